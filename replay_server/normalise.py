"""From a request, recorded or live, to the form that is compared: redaction, and the rules that the user declared.

Both sides pass through here, so a rotated key never misses and a rule means the same on either.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

import msgspec

from replay_server.agents import KnownAgent, known_agents
from replay_server.route import split
from replay_server.rules import Ignore, Optional
from store.core.baggage import run_named
from store.core.coding import as_stored
from store.core.form import (
    MEANING_HEADERS,
    Asked,
    Endpoint,
    Form,
    Mark,
    Pairs,
    first,
    marks,
    normal,
    numbered,
    unmarked,
)
from store.core.redact import Content, Redacted, Redactor, stored

_READ = frozenset((b"content-type", b"content-encoding", b"user-agent"))  # whatever `meaning` names
_PLACES_KEPT = 1024


class Normal(msgspec.Struct, frozen=True):
    """A request as it is compared.

    `counts` says how many places each rule took out. `optional` names the rule by which it may come or not, "" for a
    request that has to.
    """

    form: Form
    counts: dict[str, int]
    optional: str = ""


@dataclass(frozen=True, slots=True)
class Rules:
    """What is compared and what is not: the user's own rules, and the shipped ones of `agents`."""

    ignores: tuple[Ignore, ...] = ()
    optionals: tuple[Optional, ...] = ()
    agents: tuple[KnownAgent, ...] = ()
    meaning: frozenset[str] = MEANING_HEADERS
    _allowing: dict[Endpoint, tuple[tuple[str, Optional], ...]] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, ignores: Iterable[str], optionals: Iterable[str] = (), *, shipped: bool = True) -> "Rules":
        """The default rules and these. Raises BadRule."""
        return cls(
            tuple(Ignore.parse(text) for text in ignores),
            tuple(Optional.parse(text) for text in optionals),
            known_agents() if shipped else (),
        )

    @property
    def own(self) -> list[str]:
        """The user's rules as they are written and reported."""
        return [*map(str, self.ignores), *map(str, self.optionals)]

    def normal(self, asked: Asked) -> Normal:
        """A request after redaction, as it is compared."""
        place, model = split(asked.endpoint)
        form = normal(msgspec.structs.replace(asked, endpoint=place), self.meaning)
        if model:
            form.document["path"] = {"model": model}
        agent = self._agent(asked)
        optional = next((label for label, rule in self.allowing(asked.endpoint) if rule.fits(form.document)), "")
        ignores = [(str(ignore), ignore) for ignore in self.ignores]
        if agent is not None:
            ignores += [(f"{agent.name}: {ignore}", ignore) for ignore in agent.ignores]
        counts = {label: count for label, ignore in ignores if (count := ignore.remove(form.document))}
        if form.marks and ignores:
            form = replace(form, marks=asked.marks + _compared(asked, [ignore for _, ignore in ignores]))
        return Normal(form, counts, optional)

    def _agent(self, asked: Asked) -> KnownAgent | None:
        if not self.agents:
            return None
        user_agent = first(asked.headers, b"user-agent").decode("latin-1")
        return next((agent for agent in self.agents if agent.user_agent.search(user_agent)), None)

    def compared(self, headers: Pairs) -> list[tuple[bytes, bytes]]:
        """The headers that have a part in what `normal` makes of a request."""
        names = _compared_names(self.meaning)
        return [(lower, value) for name, value in headers if (lower := name.lower()) in names]

    def allowing(self, place: Endpoint) -> tuple[tuple[str, Optional], ...]:
        """The rules, each with its name, by which requests to `place` may be optional."""
        known = self._allowing.get(place)
        if known is None:
            if len(self._allowing) >= _PLACES_KEPT:
                self._allowing.clear()
            known = self._allowing[place] = tuple(self._named(place))
        return known

    def _named(self, place: Endpoint) -> Iterator[tuple[str, Optional]]:
        yield from ((str(rule), rule) for rule in self.optionals if rule.names(place))
        for agent in self.agents:
            yield from ((f"{agent.name}: {rule}", rule) for rule in agent.optionals if rule.names(place))


class Told(msgspec.Struct, frozen=True, dict=True):
    """A live request as the recorder would have stored it: nothing in it is secret any more."""

    endpoint: Endpoint
    path: Redacted
    query: Redacted
    headers: tuple[tuple[Redacted, Redacted], ...]
    body: Redacted
    run: str = ""  # the run that the request says it belongs to

    @cached_property
    def asked(self) -> Asked:
        """What is compared."""
        headers = as_stored([(name.content, value.content) for name, value in self.headers], exact=self.body.exact)
        _, marks = unmarked(self.path.content)
        return Asked(self.endpoint, self.query.content, headers, self.body.content, marks)

    def at(self, endpoint: Endpoint) -> "Told":
        """The same request to `endpoint`."""
        return self if endpoint == self.endpoint else msgspec.structs.replace(self, endpoint=endpoint)


@cache
def _compared_names(meaning: frozenset[str]) -> frozenset[bytes]:
    return _READ | {name.encode("latin-1", "replace") for name in meaning}


def _compared(asked: Asked, ignores: Iterable[Ignore]) -> tuple[Mark, ...]:
    """The marks of query and body that stand where something is compared."""
    document = numbered(asked)
    for ignore in ignores:
        ignore.remove(document)
    return marks(document)


def told(raw: Asked, redactor: Redactor) -> Told:
    """Applies the recorder's redaction to a live request, and drops the headers that were for the proxy."""
    place = raw.endpoint
    purpose = redactor.endpoint(place.method, place.host, place.path, raw.headers)
    headers = tuple(
        (stored(name), redactor.header(name, value)) for name, value in raw.headers if not _for_proxy(name.lower())
    )
    path, query = redactor.path(place.path), redactor.query(raw.query)
    body = redactor.body(raw.body, Content.of(raw.headers, purpose))
    return Told(place._replace(path=unmarked(path.content)[0]), path, query, headers, body, run_named(raw.headers))


def host(name: str) -> str:
    """A host as it is compared: lower case, without brackets and the root's dot."""
    return name.strip("[]").rstrip(".").lower()


def _for_proxy(name: bytes) -> bool:
    return name in (b"proxy-authorization", b"proxy-connection") or name.startswith(b"x-edgetape-")
