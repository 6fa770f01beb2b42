"""The proof of a bundle: the checks of `store.verify` over what lies in one file (docs/format.md, sections 7 and 9)."""

from pathlib import Path

from store.bundle import records, source
from store.bundle.container import TooMuch, Unsafe
from store.bundle.source import Members
from store.verify import Progress, verify_records
from store.verify.terms import USUAL, Terms
from store.verify.verdict import Tally, Verdict, unread


def verify_bundle(
    path: Path,
    terms: Terms = USUAL,
    progress: Progress | None = None,
) -> Verdict:
    """Verifies the bundle at `path`: a file, a folder, or a tar. Raises StoreUnusable where nothing can be read."""
    try:
        with source.opened(path) as members:
            return verify_members(members, terms, progress)
    except Unsafe as error:
        return unread("V105", str(error), not terms.pins)
    except TooMuch as error:
        return unread("V106", str(error), not terms.pins)


def verify_members(
    members: Members,
    terms: Terms = USUAL,
    progress: Progress | None = None,
) -> Verdict:
    """Verifies members that lie somewhere already."""
    tally = Tally()
    bundle = records.read(members, tally)
    if bundle is None:
        (finding,) = tally.findings
        return unread(finding.code, finding.sentence, not terms.pins)
    return verify_records(bundle, None, terms, progress, tally=tally)
