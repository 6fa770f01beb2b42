"""Cosignatures: what a witness signs about a checkpoint that it has seen (C2SP tlog-cosignature, Ed25519); pure."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from store.core.checkpoint import Checkpoint, Signature, key_id, read_key, signature_lines, spell_key, verifies
from store.core.errors import Malformed

KIND = b"\x04"
LINES_BYTES_MAX = 16_384
_TIMESTAMP_BYTES = 8
_SECONDS_MAX = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class WitnessKey:
    """A witness's name and Ed25519 public key; its text is a vkey of the signature type 0x04."""

    name: str
    public: bytes

    @property
    def key_id(self) -> bytes:
        """The first 4 bytes of SHA-256(name | 0x0A | 0x04 | public key)."""
        return key_id(self.name, KIND, self.public)

    @property
    def label(self) -> str:
        """`name+id`, enough to tell witnesses apart."""
        return f"{self.name}+{self.key_id.hex()}"

    def __str__(self) -> str:
        return spell_key(self.name, KIND, self.public)

    @classmethod
    def parse(cls, text: str) -> "WitnessKey":
        """Raises Malformed unless `text` is the vkey of a witness that signs with Ed25519."""
        return cls(*read_key(text, KIND))

    def own(self, lines: Sequence[Signature]) -> list[Signature]:
        """The lines that say they are of this witness, true or not."""
        return [line for line in lines if (line.name, line.key_id) == (self.name, self.key_id)]

    def time_of(self, line: Signature, stated: Checkpoint) -> int | None:
        """When the witness signed this checkpoint, in seconds since 1970; None if the line is no true cosignature."""
        seconds = int.from_bytes(line.signature[:_TIMESTAMP_BYTES], "big")
        true = len(line.signature) > _TIMESTAMP_BYTES and seconds <= _SECONDS_MAX
        text = statement(stated, seconds)
        return seconds if true and verifies(self.public, text, line.signature[_TIMESTAMP_BYTES:]) else None


def statement(stated: Checkpoint, seconds: int) -> bytes:
    """What a witness signs: the header, its time, and the checkpoint's text."""
    return f"cosignature/v1\ntime {seconds}\n".encode() + stated.text


def parse(raw: bytes) -> tuple[Signature, ...]:
    """The lines of a witness's answer. Raises Malformed."""
    if len(raw) > LINES_BYTES_MAX:
        raise Malformed("malformed cosignature: longer than any witness needs")
    try:
        return signature_lines(raw.decode("utf-8"))
    except UnicodeDecodeError:
        raise Malformed("malformed cosignature: not UTF-8") from None


def spell(lines: Sequence[Signature]) -> bytes:
    """The lines as a note has them, each with its line feed."""
    encoded = ((line.name, base64.b64encode(line.key_id + line.signature).decode()) for line in lines)
    return "".join(f"\N{EM DASH} {name} {signature}\n" for name, signature in encoded).encode()
