"""The demo: `python -m examples.demo` tells the whole story; it exits non-zero when anything promised is not seen."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from examples.demo.edgetape import Edgetape
from examples.demo.story import Story
from examples.demo.telling import Telling
from tests.support.processes import ROOT

FOLDER = ROOT / "build" / "demo"
OURS = ("store", "keys", "authority", "tampered", "tools")
NEXT = """
What to type next
   source .venv/bin/activate
   export EDGETAPE_STORE={folder}/store EDGETAPE_KEYS={folder}/keys EDGETAPE_AUTHORITY={folder}/authority
   edgetape show last 8                the look-up that found nothing, whole
   edgetape replay last -- python -m examples.contract_agent {urls} --system-prompt "Be brief."
   edgetape record -- python my_agent.py    your own agent
"""


def main(argv: list[str] | None = None) -> int:
    """Tell the story; 0 when every promise was seen, 1 when one is missing."""
    parser = argparse.ArgumentParser(prog="examples.demo", description="Record, prove and replay a real agent.")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where everything is kept (build/demo)")
    parser.add_argument("--scripted", action="store_true", help="no real model and tool server")
    given = parser.parse_args(argv)
    folder = given.folder.resolve()
    for name in OURS:
        shutil.rmtree(folder / name, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    telling = Telling()
    story = Story(folder, telling, Edgetape(folder, telling))
    story.tell(given.scripted)
    return _end(story, folder)


def _end(story: Story, folder: Path) -> int:
    story.telling.times()
    urls = " ".join(story.agent[3:])
    place = str(folder).removeprefix(f"{ROOT}/")
    sys.stdout.write(NEXT.format(folder=place, urls=urls))
    missing = story.telling.missing
    verdict = "everything promised was seen" if not missing else "MISSING: " + "; ".join(missing)
    if story.scripted:
        verdict += " (SCRIPTED servers stood in for real ones: see part 1)"
    sys.stdout.write(f"\n{verdict}\n")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
