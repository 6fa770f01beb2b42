"""What an imported run claims of the file that it was made of: nobody signed it, and whoever reads it is told so."""

from collections.abc import Iterator

from proxy.words import printable
from store.core.model import RunOpen
from store.reader import Reader, RunInfo

_UNSIGNED = "a claim: nobody signed that file, and the times of the steps are those of the import"


def origin(reader: Reader, run: str) -> dict[str, str]:
    """What run.open says of the file: kind, sha256, file, tool, began; empty for a run that no file was made into.

    Raises BodyUnavailable where it is erased.
    """
    event = reader.event(run, 0)
    facts = event.facts
    if not isinstance(facts, RunOpen) or facts.mode != "import":
        return {}
    spelled = [[reader.text(event, text).decode("utf-8", "replace") for text in pair] for pair in facts.labels or []]
    return {key.removeprefix("import."): value for key, value in spelled if key.startswith("import.")}


def lines(reader: Reader, info: RunInfo) -> Iterator[str]:
    """The same for people."""
    if info.mode != "import":
        return
    said = origin(reader, info.id)
    tool = f", written by {said['tool']}" if "tool" in said else ""
    began = f", begun {said['began']}" if "began" in said else ""
    file = f"the {said.get('kind', 'unknown')} file {said.get('file', '')} (SHA-256 {said.get('sha256', 'unknown')})"
    yield printable(f"made of {file}{tool}{began}", one_line=True)
    yield f"origin: {_UNSIGNED}"
