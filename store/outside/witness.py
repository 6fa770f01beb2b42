"""The client of a witness: submits a checkpoint with its proof, and takes its cosignature (C2SP tlog-witness)."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from store.core import cosignature
from store.core.checkpoint import Checkpoint
from store.core.cosignature import LINES_BYTES_MAX, WitnessKey
from store.core.errors import EdgetapeError, Malformed
from store.core.submission import Submission
from store.outside.post import Answer, Way, post

_SIZE = re.compile(rb"(0|[1-9][0-9]{0,18})\n")
_ATTEMPTS = 3  # others may submit checkpoints of this log at the same time

# The proof that the log's first `new` leaves only add to its first `old` (RFC 6962, section 2.1.2).
type Prove = Callable[[int, int], Sequence[bytes]]


class NotWitnessed(EdgetapeError):
    """A witness that did not cosign; the sentence says why."""


class Diverged(EdgetapeError):
    """A witness that has seen another, or a longer, log than this one: V501 or V502."""


@dataclass(frozen=True, slots=True)
class Witness:
    """Where a witness takes checkpoints (its submission prefix), and the key that it signs with."""

    url: str
    key: WitnessKey

    @classmethod
    def parse(cls, text: str) -> "Witness":
        """A witness as the command line names it: VKEY@URL. Raises Malformed."""
        found = re.fullmatch(r"(.+)@(https?://.+)", text)
        if found is None:
            raise Malformed("a witness is named by its key and its address: VKEY@URL")
        return cls(found[2], WitnessKey.parse(found[1]))


def cosign(witness: Witness, stated: Checkpoint, note: bytes, known: int, prove: Prove, way: Way) -> bytes:
    """The witness's cosignature lines for a checkpoint; `known` is the size that it cosigned last, as far as we know.

    Raises NotWitnessed, Diverged, Unreachable.
    """
    old = min(known, stated.size)
    for _ in range(_ATTEMPTS):
        path = tuple(prove(old, stated.size))
        answer = _ask(witness, Submission(old, path, note), way)
        if answer.status == 200:
            return _accepted(witness, stated, answer.body)
        if answer.status != 409:
            raise _refusal(witness, answer, old)
        held = _size(answer)
        if held is None or held == old:
            raise Diverged(f"V502: the witness {witness.key.label} has cosigned another log with this origin")
        if held > stated.size:
            raise Diverged(
                f"V501: the witness {witness.key.label} has cosigned {held} leaves, this checkpoint has {stated.size}",
                hint="the store was rolled back, or a copy of it went on elsewhere",
            )
        old = held
    raise NotWitnessed(f"the witness {witness.key.label} changed its mind {_ATTEMPTS} times about what it saw last")


def _ask(witness: Witness, submission: Submission, way: Way) -> Answer:
    return post(f"{witness.url.rstrip('/')}/add-checkpoint", submission.text, "text/plain", LINES_BYTES_MAX, way)


def _refusal(witness: Witness, answer: Answer, old: int) -> EdgetapeError:
    label = witness.key.label
    match answer.status:
        case 404:
            return NotWitnessed(
                f"the witness {label} does not know this log", hint="give its operator the store's vkey"
            )
        case 403:
            return NotWitnessed(f"the witness {label} does not know the key that signs", hint="edgetape keys show")
        case 422:
            return Diverged(f"V502: the proof from the {old} leaves that the witness {label} has seen does not hold")
        case 400:
            return NotWitnessed(f"the witness {label} did not understand the request")
    return NotWitnessed(f"the witness {label} answered with the status {answer.status}")


def _size(answer: Answer) -> int | None:
    found = _SIZE.fullmatch(answer.body)
    return int(found[1]) if found and answer.kind == "text/x.tlog.size" else None


def _accepted(witness: Witness, stated: Checkpoint, body: bytes) -> bytes:
    """The lines that are the witness's; those of other keys are passed over, as tlog-witness demands."""
    try:
        lines = witness.key.own(cosignature.parse(body))
    except Malformed as error:
        raise NotWitnessed(f"what the witness {witness.key.label} answered is a {error}") from None
    if not lines:
        raise NotWitnessed(f"the witness answered with signatures of others than {witness.key.label}")
    if any(witness.key.time_of(line, stated) is None for line in lines):
        raise NotWitnessed(f"V511: the cosignature of {witness.key.label} does not verify")
    return cosignature.spell(lines)
