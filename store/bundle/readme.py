"""The README.txt of a bundle: how to check it with what every machine has; pure."""

from collections.abc import Sequence

_HEAD = """\
An edgetape evidence bundle, format edgetape/bundle/1.

Holds the recording of:
{runs}

1. Is it whole and unchanged? With Python 3.9 or newer and nothing else, in the folder
   of this file, or beside the ZIP:

    python3 verify.py .
    python3 verify.py BUNDLE.zip
    python3 verify.py BUNDLE.zip --pin 'VKEY'

   A verifier that came in the same parcel proves nothing to you. Take verify.py from
   a place that you trust; this one's SHA-256 is, and has to be there:

    {verifier}

   Exit status: 0 VERIFIED, 20 INVALID, 30 INCOMPLETE, 2 usage, 3 could not run.

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

_TAIL = """
4. What is what

    events.ndjson    what happened, one canonical record a line; each names the hash of
                     the one before it (evidence)
    hashes.txt       the hash of each, so that a changed one can be named
    checkpoint       size and root of the log, signed (evidence)
    {log}
{bodies}    report.html, report.json   a view for reading. Not evidence, and not signed.
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


def text(runs: Sequence[str], *, proofs: bool, bodies: bool, verifier: str) -> bytes:
    """The whole text; `verifier` is the SHA-256 (hex) of verify.py."""
    parts = [
        _HEAD.format(runs="\n".join(f"    run {run}" for run in runs), verifier=verifier),
        _BODIES if bodies else _WITHHELD,
        _PROOFS if proofs else "",
        _TAIL.format(log=_PROOFS_LINE if proofs else _LOG_LINE, bodies=_BODY_LINES if bodies else ""),
    ]
    return "".join(parts).encode()
