"""The codes of docs/format.md: the page lists those that verification can give, and each has a test that gets it."""

import re
from pathlib import Path

from store.verify.verdict import CODES

TESTS = Path(__file__).parents[2]
PAGE = TESTS.parent / "docs" / "format.md"


def test_the_page_lists_every_code() -> None:
    (section,) = re.findall(r"## 7\. Verify\n(.*?)\n## 8\.", PAGE.read_text(), re.DOTALL)
    assert set(re.findall(r"V\d{3}", section)) == set(CODES)


def test_every_code_is_got_by_a_test() -> None:
    # Attacks may stand in rooms of their own; what the second verifier can say proves nothing of ours.
    others = (Path(__file__), TESTS / "support")
    texts = [path.read_text() for path in TESTS.rglob("*.py") if not any(map(path.is_relative_to, others))]
    assert [code for code in CODES if not any(f'"{code}"' in text for text in texts)] == []
