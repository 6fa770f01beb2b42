"""The page docs/benchmarks.md: each program that measures writes its own section of it, and leaves the others alone."""

import os
import platform
import re
import sys
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"

_HEAD = """# Measured

Every section is written by the program that it names, on the machine that it names; goals that were missed are marked
with a star. Figures are medians of several tries, with the least and the most beside them.
"""


def write(section: str, text: str, page: Path = PAGE) -> None:
    """Puts `text` (Markdown) into the section of that name, in the place of what was there."""
    known = page.read_text("utf-8") if page.exists() else _HEAD
    block = f"<!-- section: {section} -->\n## {section}\n\n{text.strip()}\n<!-- end -->\n"
    found = re.compile(rf"<!-- section: {re.escape(section)} -->\n.*?<!-- end -->\n", re.DOTALL)
    known = found.sub(lambda _: block, known) if found.search(known) else f"{known.rstrip()}\n\n{block}"
    page.write_text(known, "utf-8")


def machine() -> str:
    """What it was measured on, in one sentence."""
    version = ".".join(map(str, sys.version_info[:3]))
    load = os.getloadavg()[0]
    return f"{platform.system()} on {platform.machine()}, {os.cpu_count()} cores, Python {version}, load {load:.1f}."
