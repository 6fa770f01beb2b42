"""Which verbs can go live: those that ask first, and no other."""

import re
from pathlib import Path

from tests.layout.tree import ROOT, source_files

LIVE = {"compare", "fork", "rebase", "replay", "sandbox"}


def using(words: str) -> set[Path]:
    return {path for path in source_files() if re.search(words, (ROOT / path).read_text())}


def test_only_these_verbs_reach_the_way_out() -> None:
    commands = {path.stem for path in using("proxy.outbound") if path.parent == Path("proxy/commands")}
    assert commands == LIVE


def test_a_way_out_of_a_confinement_and_the_client_are_made_in_one_place_each_where_consent_was_given() -> None:
    assert using(r"\benter\(.*goes_live=True") == {Path("proxy/outbound/voyage.py")}
    assert using(r"\bLiveOptions\(") == {Path("proxy/outbound/voyage.py")}
    assert using(r"\bUpstream\(") == {Path("replay_server/server.py")}
