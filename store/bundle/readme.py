"""The README.txt of a bundle: how to check it with what every machine has; pure."""

from collections.abc import Mapping, Sequence

from store.core.leaf import Anchored

_HEAD = """\
An edgetape evidence bundle, format edgetape/bundle/1.

Holds the recording of:
{runs}

1. Is it whole and unchanged? With Python 3.9 or newer and nothing else, beside the
   ZIP, or in a folder that holds what was in it and no other file:

    python3 verify.py .
    python3 verify.py BUNDLE.zip
    python3 verify.py BUNDLE.zip --pin 'VKEY'

   A verifier that came in the same parcel proves nothing to you. Take verify.py from
   a place that you trust; this one's SHA-256 is, and has to be there:

    {verifier}

   Exit status: 0 VERIFIED, 10 VERIFIED, but annotations are not as they ought to be,
   20 INVALID, 30 INCOMPLETE, 2 usage, 3 could not run.

2. Who signed it? The key in the file vkey is a convenience. It proves nothing until you
   have got the same line on another way: then give it as --pin.

3. The same by hand, with openssl (3.0 or newer), base64 and sha256sum, in this folder:

    # the signed text, the signature and the public key out of checkpoint and vkey
    made=$(mktemp -d)
    head -n 3 checkpoint > "$made/text"
    sed -n 5p checkpoint | cut -d ' ' -f 3 | base64 -d | tail -c 64 > "$made/signature"
    (printf '\\060\\052\\060\\005\\006\\003\\053\\145\\160\\003\\041\\000'
     cut -d + -f 3- vkey | base64 -d | tail -c 32) > "$made/key.der"
    openssl pkey -pubin -inform DER -in "$made/key.der" -out "$made/key.pem"
    openssl pkeyutl -verify -rawin -pubin -inkey "$made/key.pem" -in "$made/text" \\
        -sigfile "$made/signature"
"""

_BODIES = """
    # every body has the digest that is its name
    (cd blobs && for each in *; do echo "$each  $each"; done | sha256sum --check --quiet)
"""

_WITHHELD = """
   The bodies were left out of this bundle: commitments stay unopened.
"""

_PROOFS = """
   Of the log there are proofs of single leaves only: what is shown was logged; whether
   more was logged of these runs is not shown.
"""

_STAMPS = """
4. When was it? Time stamp authorities have signed checkpoints of this log; what those cover
   existed by then. With openssl, and with the root certificate of the authority, which has to
   come to you on another way than this bundle:

{commands}
   That such a checkpoint is one of the same log is shown by edgetape verify --policy, or by the
   root of its first leaves. cosignatures in anchors/ are of witnesses (C2SP tlog-cosignature).
"""

_STAMP = """\
    openssl ts -verify -in anchors/{position}.tsr -data anchors/{size}.checkpoint -CAfile ROOT.pem
"""

_TAIL = """
{number}. What is what

    events.ndjson    what happened, one canonical record a line; each names the hash of
                     the one before it (evidence)
    hashes.txt       the hash of each, so that a changed one can be named
    checkpoint       size and root of the log, signed (evidence)
    {log}
{bodies}{annotations}{anchors}    report.html, report.json   a view for reading. Not evidence, and not signed.
    manifest.json    every other file with its SHA-256 and length. Not signed.

   How hashes, log and signature hang together is told byte by byte in docs/format.md
   of edgetape. Without anything kept outside the operator's reach, verification proves
   only that the recording agrees with itself and with the holder of the key.
"""

_LOG_LINE = "log.ndjson       the log's leaves below the checkpoint, one a line (evidence)"
_PROOFS_LINE = "proofs/          leaves of the log, each with its way to the root (evidence)"
_BODY_LINES = """\
    openings.ndjson  salt, digest and length of every body (evidence)
    blobs/           the bodies, redacted, each under its SHA-256 (evidence)
"""


_ANNOTATION_LINE = """\
    annotations.ndjson  what people said about events, each naming the hash of the one
                     before it, with salt and text where these are there (evidence)
"""
_ANCHOR_LINE = """\
    anchors/         what time stamp authorities and witnesses gave (evidence)
"""


def text(
    runs: Sequence[str],
    *,
    proofs: bool,
    bodies: bool,
    annotated: bool = False,
    anchored: Mapping[int, Anchored],
    verifier: str,
) -> bytes:
    """The whole text; `annotated` says whether there are annotations, `anchored` are the anchors by position,
    `verifier` is the SHA-256 (hex) of verify.py.
    """
    stamps = [(at, each.size) for at, each in sorted(anchored.items()) if each.kind == "rfc3161"]
    commands = "".join(_STAMP.format(position=position, size=size) for position, size in stamps)
    parts = [
        _HEAD.format(runs="\n".join(f"    run {run}" for run in runs), verifier=verifier),
        _BODIES if bodies else _WITHHELD,
        _PROOFS if proofs else "",
        _STAMPS.format(commands=commands) if stamps else "",
        _TAIL.format(
            number=5 if stamps else 4,
            log=_PROOFS_LINE if proofs else _LOG_LINE,
            bodies=_BODY_LINES if bodies else "",
            annotations=_ANNOTATION_LINE if annotated else "",
            anchors=_ANCHOR_LINE if anchored else "",
        ),
    ]
    return "".join(parts).encode()
