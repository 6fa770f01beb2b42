"""From a request, recorded or live, to the form that is compared: redaction, and the rules that the user declared.

Both sides pass through here, so a rotated key never misses and a rule means the same on either.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from replay_server.route import split
from store.core.coding import as_stored
from store.core.compare import escaped
from store.core.errors import EdgetapeError
from store.core.form import MEANING_HEADERS, Asked, Endpoint, Form, normal, unmarked
from store.core.jsontext import Inner, Node
from store.core.redact import Content, Redacted, Redactor, stored

PLACES = {"body": "body", "query": "query", "header": "headers", "path": "path"}
_ANY = "*"


class BadRule(EdgetapeError):
    """A rule that cannot be read."""


@dataclass(frozen=True, slots=True)
class Ignore:
    """A place that may differ: `body POINTER`, `query NAME`, `header NAME` or `path model`.

    A pointer is a JSON Pointer (RFC 6901) in which `*` stands for any member or item; after `#` it goes on inside the
    JSON that a string holds.
    """

    place: str
    pointer: str

    @classmethod
    def parse(cls, text: str) -> "Ignore":
        """Raises BadRule."""
        place, _, rest = text.strip().partition(" ")
        rest = rest.strip()
        if place not in PLACES or not rest or (place == "body" and not rest.startswith("/")):
            raise BadRule(
                f"this rule cannot be read: {text!r}",
                hint="write `body /messages/0/content`, `query page` or `header accept`; * is any member or item",
            )
        return cls(place, rest if place == "body" else f"/{escaped(rest.lower() if place == 'header' else rest)}")

    def __str__(self) -> str:
        if self.place == "body":
            return f"body {self.pointer}"
        return f"{self.place} {_token(self.pointer.removeprefix('/'))}"

    def remove(self, document: dict[str, Node]) -> int:
        """Takes what the rule names out of `document`; how many places that were."""
        part = document.get(PLACES[self.place])
        tokens = [_token(token) for token in self.pointer.replace("#", "").split("/")[1:]]
        return _remove(part, tokens)


@dataclass(frozen=True, slots=True)
class Rules:
    """What is compared and what is not."""

    ignores: tuple[Ignore, ...] = ()
    meaning: frozenset[str] = MEANING_HEADERS

    @classmethod
    def of(cls, ignores: Iterable[str]) -> "Rules":
        """The default rules and these ignores. Raises BadRule."""
        return cls(tuple(Ignore.parse(text) for text in ignores))

    def form(self, asked: Asked) -> tuple[Form, dict[str, int]]:
        """The form of a request after redaction, and how many places each rule took out of it."""
        place, model = split(asked.endpoint)
        form = normal(replace(asked, endpoint=place), self.meaning)
        if model:
            form.document["path"] = {"model": model}
        counts = {str(ignore): count for ignore in self.ignores if (count := ignore.remove(form.document))}
        return form, counts


@dataclass(frozen=True, slots=True)
class Told:
    """A live request as the recorder would have stored it: nothing in it is secret any more."""

    endpoint: Endpoint
    path: Redacted
    query: Redacted
    headers: tuple[tuple[Redacted, Redacted], ...]
    body: Redacted

    @property
    def asked(self) -> Asked:
        """What is compared."""
        headers = as_stored([(name.content, value.content) for name, value in self.headers], exact=self.body.exact)
        _, marks = unmarked(self.path.content)
        return Asked(self.endpoint, self.query.content, headers, self.body.content, marks)


def told(raw: Asked, redactor: Redactor) -> Told:
    """Applies the recorder's redaction to a live request, and drops the headers that were for the proxy."""
    place = raw.endpoint
    purpose = redactor.endpoint(place.method, place.host, place.path, raw.headers)
    headers = tuple(
        (stored(name), redactor.header(name, value)) for name, value in raw.headers if not _for_proxy(name.lower())
    )
    path, query = redactor.path(place.path), redactor.query(raw.query)
    body = redactor.body(raw.body, Content.of(raw.headers, purpose))
    return Told(place._replace(path=unmarked(path.content)[0]), path, query, headers, body)


def host(name: str) -> str:
    """A host as it is compared: lower case, without brackets and the root's dot."""
    return name.strip("[]").rstrip(".").lower()


def _for_proxy(name: bytes) -> bool:
    return name in (b"proxy-authorization", b"proxy-connection") or name.startswith(b"x-edgetape-")


def _token(token: str) -> str:
    return token.replace("~1", "/").replace("~0", "~")


def _remove(node: Node, tokens: list[str]) -> int:
    token, rest = tokens[0], tokens[1:]
    match node:
        case Inner(value):
            return _remove(value, tokens)
        case dict():
            names = list(node) if token == _ANY else [token] if token in node else []
            if not rest:
                for name in names:
                    del node[name]
                return len(names)
            return sum(_remove(node[name], rest) for name in names)
        case list():
            at = (
                range(len(node))
                if token == _ANY
                else [int(token)]
                if token.isdecimal() and int(token) < len(node)
                else []
            )
            if not rest:
                for index in at:
                    node[index] = None  # the place stays, so that what follows keeps its own
                return len(at)
            return sum(_remove(node[index], rest) for index in at)
    return 0
