"""What was done to a run since it was recorded, in words: tagged, held, erased."""

from collections.abc import Iterator

from proxy.words import count, moment, printable
from store.standing import Standing


def short(standing: Standing) -> str:
    """For a column of a list: `held`, `erased`, `partly erased`."""
    parts = [] if standing.hold is None else ["held"]
    if standing.erased:
        parts.append("erased" if None in standing.erased else "partly erased")
    return ", ".join(parts)


def lines(standing: Standing) -> Iterator[str]:
    """For the head of a run: a sentence for each thing that was done."""
    if standing.tags:
        yield "tags: " + ", ".join(f"{_said(key)}={_said(value)}" for key, value in standing.tags)
    if standing.hold is not None:
        yield f"held by {_said(standing.hold.by)}: {_said(standing.hold.reason)}"
    if standing.erasure is not None:
        at, facts = standing.erasure
        which = "its bodies" if None in standing.erased else f"the bodies of {count(len(standing.erased), 'event')}"
        policy = f" (policy {facts.policy[:12]})" if facts.policy else ""
        yield f"{which} were erased, last at {moment(at)} by {_said(facts.by)}: {_said(facts.reason)}{policy}"


def record(standing: Standing) -> dict[str, object]:
    """As --json prints it: `hold` is null or {by, reason}; `erased` null or {at, by, reason, policy, events}, where
    null events are all; `tags` is an object.
    """
    hold = None if standing.hold is None else {"by": standing.hold.by, "reason": standing.hold.reason}
    return {"hold": hold, "erased": _erased(standing), "tags": dict(standing.tags)}


def _erased(standing: Standing) -> dict[str, object] | None:
    if standing.erasure is None:
        return None
    at, facts = standing.erasure
    events = None if None in standing.erased else sorted(seq for seq in standing.erased if seq is not None)
    return {"at": at, "by": facts.by, "reason": facts.reason, "policy": facts.policy, "events": events}


def _said(text: str) -> str:
    return printable(text, one_line=True)
