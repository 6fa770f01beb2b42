"""The tables of docs/security.md, from what the tests of the tamper matrix expect (`python -m tests.docs.tamper`)."""

import re
from collections.abc import Iterable
from pathlib import Path

from store.verify.verdict import CODES

PAGE = Path(__file__).parents[2] / "docs" / "security.md"

# What is no row of the two tables: the attack, what is said of it, and the test that shows it.
ELSEWHERE: dict[str, tuple[str, str, str]] = {
    "T06": (
        "the tail of an open run, above the last checkpoint",
        "passes: it was not signed yet",
        "tests/store/verify/test_verify.py",
    ),
    "T13": (
        "a run removed and the log rebuilt with the true key",
        "V502 with a held checkpoint, 21; passes without",
        "tests/store/verify/test_held.py",
    ),
    "T14": (
        "an old backup in the place of the store",
        "V501 with a held checkpoint, or where the key's memory is, 21; passes elsewhere",
        "tests/store/verify/test_held.py",
    ),
    "T15": (
        "an old backup, and going on from it",
        "V502 with a held checkpoint, 21; the true signer refuses",
        "tests/store/verify/test_held.py",
    ),
    "T17": (
        "everything written anew with the stolen key",
        "V502 with a held checkpoint, 21; passes without",
        "tests/store/verify/test_held.py",
    ),
    "T20": ("the wall clock stepped back", "passes: times are claims", "tests/store/verify/test_verify.py"),
    "T21": (
        "a run with another date",
        "V522 with time stamps and a policy; passes without",
        "tests/store/verify/test_anchors.py",
    ),
    "T24": (
        "bodies recompressed or spliced otherwise",
        "passes: nothing was changed",
        "tests/store/verify/test_tamper.py",
    ),
    "T25": ("bodies erased on record", "passes, PAYLOADS_ERASED", "tests/store/test_erasure.py"),
    "T31": ("two inputs joined to the same bytes", "no two hashes share a preimage", "tests/store/core/test_digest.py"),
    "T39": ("SQL in headers, paths, labels, names", "is text", "tests/store/test_hostile.py"),
    "T40": ("INSERT OR REPLACE past the triggers", "refused by the database", "tests/store/test_schema.py"),
    "T42": ("names that lead out of a bundle", "V105, 20", "tests/store/bundle/test_container.py"),
    "T45": (
        "another history shown to another verifier",
        "V502 with a held checkpoint; V510 without the witnesses",
        "tests/store/verify/test_anchors.py",
    ),
    "T46": (
        "cosignatures stripped",
        "V511, 20; V510 where a policy asks for them",
        "tests/store/verify/test_anchors.py",
    ),
    "T47": ("a time stamp put in the place of another", "V520, 20", "tests/store/verify/test_anchors.py"),
    "T50": (
        "another parent in a run",
        "V212, 20; V220 or V221 where whoever has the key forges one",
        "tests/store/verify/test_family.py",
    ),
    "T52": ("a catalogue that tells something else", "passes, STALE_CATALOGUE", "tests/store/verify/test_tamper.py"),
    "T55": ("a secret in any byte that is written", "none is found", "tests/scenarios/test_canary.py"),
    "T56": ("a crash between append and checkpoint", "passes, UNSEALED_TAIL", "tests/store/verify/test_verify.py"),
    "T58": (
        "the write-ahead log deleted, half a page",
        "what was before, or INCOMPLETE, never another history",
        "tests/store/test_database.py",
    ),
    "T59": ("facts that the bodies do not give", "V620 with --deep", "tests/store/verify/test_deep.py"),
    "T60": ("verifying itself", "leaves every byte as it was", "tests/store/verify/test_verify.py"),
}


def written(page: str) -> str:
    """The page with its tables as the tests are now."""
    for name, rows in (("stores", _stores()), ("bundles", _bundles()), ("elsewhere", _elsewhere())):
        block = re.compile(rf"(<!-- table: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        table = "\n".join(rows) + "\n"
        page = block.sub(lambda found, table=table: found[1] + table + found[2], page)  # type: ignore[misc]
    return page


def _stores() -> Iterable[str]:
    from tests.store.verify.attacks import remarks
    from tests.store.verify.test_matrix import OTHERWISE
    from tests.store.verify.test_tamper import CASES

    yield from ("| | attack | what is said | names | exit |", "|---|---|---|---|---|")
    for number, words, name in _numbered({**CASES, **remarks.CASES}):
        if name in remarks.CASES:
            found = remarks.CASES[name]
            said = f"{found.code} {CODES[found.code]}"
            yield f"| {number} | {words} | {said} | {_place('', found.seq)} | 10 |"
            continue
        case = CASES[name]
        others = [
            f"{state}: {code or 'passes, UNSEALED_TAIL'}"
            for (state, each), (code, _) in OTHERWISE.items()
            if each == name
        ]
        said = "; ".join([f"{case.code} {CODES[case.code]}", *others])
        yield f"| {number} | {words} | {said} | {_place(case.run, case.seq)} | {case.exit_code} |"


def _bundles() -> Iterable[str]:
    from tests.store.bundle.attacks import MEMBERS, SEALED
    from tests.store.bundle.test_annotations import ATTACKS

    yield from ("| | attack | what is said | names | exit |", "|---|---|---|---|---|")
    for number, words, name in _numbered(SEALED):
        found = sorted(SEALED[name][1], key=str)
        code, seq = next((each for each in found if each[1] is not None), found[0])
        yield f"| {number} | {words} | {code} {CODES[code]} | {_place('', seq)} | 20 |"
    for number, words, name in _numbered(ATTACKS):
        code, seq = ATTACKS[name][1]
        if code in CODES:
            yield f"| {number} | {words} | {code} {CODES[code]} | {_place('', seq)} | 10 |"
    for number, words, name in _numbered(MEMBERS):
        code = MEMBERS[name][1]
        yield f"| {number} | {words} | {code} {CODES[code]} | the member | 20 |"


def _elsewhere() -> Iterable[str]:
    yield from ("| | attack | what is said |", "|---|---|---|")
    for number, (attack, said, _) in sorted(ELSEWHERE.items()):
        yield f"| {number} | {attack} | {said} |"


def _numbered(names: Iterable[str]) -> list[tuple[str, str, str]]:
    """(number, words, name), by number; what has none comes last."""
    found = []
    for name in names:
        number, _, words = name.partition(" ") if re.match(r"T\d\d ", name) else ("", "", name)
        found.append((number, words, name))
    return sorted(found, key=lambda each: each[0] or "Z")


def _place(run: str | None, seq: int | None) -> str:
    if seq is not None:
        return "the event"
    return "the run" if run else ""


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
