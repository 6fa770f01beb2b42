"""Anchoring as the command line asks for it: whom to ask, and what is said of the answer."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from proxy.border import Misuse
from proxy.upstream import upstream_proxy
from store.core.errors import Malformed
from store.core.event import timestamp
from store.outside import token
from store.outside.post import Unreachable, Way, host_of
from store.outside.round import Outcome, Plan
from store.outside.witness import Witness


def plan(authorities: Sequence[str], roots: Path | None, witnesses: Sequence[str]) -> Plan:
    """Whom the options name, by the user's own proxies. Raises Misuse."""
    try:
        for url in authorities:
            host_of(url)
        named = tuple(map(Witness.parse, witnesses))
        trusted = () if roots is None else (token.Authority(token.certificates(roots.read_bytes())),)
    except (Malformed, Unreachable) as error:
        raise Misuse(f"whom to ask makes no sense: {error}") from error
    except OSError as error:
        raise Misuse(f"{roots} cannot be read: {error.strerror}") from error
    return Plan(tuple(authorities), trusted, named, Way(upstream_proxy(os.environ).route))


def sentences(outcome: Outcome) -> Iterator[str]:
    """A line for each anchor that is kept now."""
    tokens = iter(outcome.tokens)
    for kept in outcome.kept:
        if kept.facts.kind == "rfc3161":
            stamp = next(tokens)
            exact = f" (within {stamp.accuracy.total_seconds():g} s)" if stamp.accuracy else ""
            what = f"stamped by {kept.facts.by} at {timestamp(stamp.time)}{exact}"
        else:
            what = f"cosigned by {kept.facts.by}"
        yield f"checkpoint {kept.facts.size}: {what}; leaf {kept.position}"
