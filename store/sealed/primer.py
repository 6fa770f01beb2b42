"""Texts that frames are compressed against: what events usually say, so that a short run need not say it again.

docs/format.md, section 8. Number N is the file primer-N.txt beside this one, used as a raw content dictionary (RFC
8878, section 5).

Rules kept here:
- A primer never changes and none is taken away: blocks name theirs, and cannot be read without it. A better text gets
  the next number.
"""

from pathlib import Path

import zstandard

NEWEST = 1
_DICTIONARIES = {
    number: zstandard.ZstdCompressionDict(
        Path(__file__).with_name(f"primer-{number}.txt").read_bytes(), dict_type=zstandard.DICT_TYPE_RAWCONTENT
    )
    for number in range(1, NEWEST + 1)
}


def dictionary(number: int) -> zstandard.ZstdCompressionDict | None:
    """The primer of this number; None for one that is not known."""
    return _DICTIONARIES.get(number)
