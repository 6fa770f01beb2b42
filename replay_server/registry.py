"""The side-effect registry: which requests a live mode may send to the world. Pure.

Rules kept here:
- The first rule that covers a request decides; nothing covered by none goes live.
- What is not known to read, or to be repeatable, is a write; a write goes live only by a rule that says `class=write`.
- Without a rule of the user's, only model requests go live, and only to the servers that the recording knows as such.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, cast

from replay_server.modes import NotAllowed
from store.core.form import Endpoint
from store.labels.dialect import RequestLabels

type Class = Literal["read", "idempotent", "write"]

MODEL_KINDS = ("llm", "embedding")
_CLASSES = ("read", "idempotent", "write")
_ANY = "*"
_MEMBERS = ("host", "method", "path", "tool", "class", "live", "repeat")
_HINT = "write `host=api.example.com method=POST path=/v1/* tool=search class=write`, as many of these as are wanted"


@dataclass(frozen=True, slots=True)
class Deed:
    """A request as the registry looks at it: where it goes, what tool it is, whether it only reads."""

    host: str
    port: int
    method: str
    path: str
    tool: str
    effect: Class
    is_model: bool

    @classmethod
    def of(cls, place: Endpoint, labels: RequestLabels) -> "Deed":
        """A live request, `labels` saying what it asks for."""
        effect = cast("Class", labels.effect) if labels.effect in _CLASSES else "write"
        path = place.path.decode("utf-8", "replace")
        is_model = labels.kind in MODEL_KINDS
        return cls(place.host, place.port, place.method, path, labels.tool or "", effect, is_model)


@dataclass(frozen=True, slots=True)
class Rule:
    """One row; a `*` in a pattern stands for any letters. `effect` replaces what the request looks like.

    `is_repeat` lets it do once more what the recording has done; `models_only` is of the rows that the recording gives.
    """

    host: str = _ANY
    method: str = _ANY
    path: str = _ANY
    tool: str = _ANY
    effect: Class | None = None
    is_live: bool = True
    is_repeat: bool = False
    models_only: bool = False

    @classmethod
    def parse(cls, text: str) -> "Rule":
        """`host=... method=... path=... tool=... class=... live=no repeat=yes`. Raises NotAllowed."""
        members = dict(_pair(text, word) for word in text.split())
        if not members.keys() & {"host", "method", "path", "tool"}:
            raise NotAllowed(f"this rule names nothing: {text!r}", hint=_HINT)
        effect = members.get("class")
        if effect is not None and effect not in _CLASSES:
            raise NotAllowed(f"no class of effects: {effect!r}", hint="say class=read, class=idempotent or class=write")
        return cls(
            host=members.get("host", _ANY).lower(),
            method=members.get("method", _ANY).upper(),
            path=members.get("path", _ANY),
            tool=members.get("tool", _ANY),
            effect=cast("Class | None", effect),
            is_live=_said(text, members.get("live", "yes")),
            is_repeat=_said(text, members.get("repeat", "no")),
        )

    def covers(self, deed: Deed) -> bool:
        """Whether this row is about a request."""
        hosts = (deed.host, f"{deed.host}:{deed.port}")
        return (
            any(fnmatchcase(host, self.host) for host in hosts)
            and fnmatchcase(deed.method, self.method)
            and fnmatchcase(deed.path, self.path)
            and fnmatchcase(deed.tool, self.tool)
            and (deed.is_model or not self.models_only)
        )

    def __str__(self) -> str:
        said = (("host", self.host), ("method", self.method), ("path", self.path), ("tool", self.tool))
        words = [f"{name}={value}" for name, value in said if value != _ANY]
        words += [f"class={self.effect}"] if self.effect else []
        words += [] if self.is_live else ["live=no"]
        return " ".join([*words, "repeat=yes"] if self.is_repeat else words)


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the registry says of a request; `why` is a sentence where it may not go live."""

    is_live: bool
    effect: Class
    is_repeat: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True)
class Registry:
    """The table: the user's rules in their order, then the recording's model servers."""

    rules: tuple[Rule, ...] = ()

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Registry":
        """The user's rules alone. Raises NotAllowed."""
        return cls(tuple(Rule.parse(text) for text in texts))

    def with_models(self, servers: Iterable[tuple[str, int]]) -> "Registry":
        """The same with these model servers, each a host and a port, after the user's rules."""
        rows = (Rule(host=f"{host}:{port}", models_only=True) for host, port in dict.fromkeys(servers))
        return Registry((*self.rules, *rows))

    def knows_model(self, host: str, port: int) -> bool:
        """Whether the recording knows a server as a model's."""
        return any(rule.models_only and rule.host == f"{host}:{port}" for rule in self.rules)

    def names(self, host: str, port: int) -> bool:
        """Whether some of what is for there may go live."""
        hosts = (host, f"{host}:{port}")
        return any(rule.is_live and any(fnmatchcase(one, rule.host) for one in hosts) for rule in self.rules)

    def rule(self, deed: Deed) -> Ruling:
        """Whether a request may go live."""
        found = next((rule for rule in self.rules if rule.covers(deed)), None)
        if found is None:
            return Ruling(False, deed.effect, why="no rule lets it go live")
        effect = found.effect or deed.effect
        if not found.is_live:
            return Ruling(False, effect, why=f"a rule keeps it back ({found})")
        if effect == "write" and found.effect != "write":
            return Ruling(False, effect, why="it may write, and no rule with class=write names it")
        return Ruling(True, effect, found.is_repeat)

    def allowing(self, deed: Deed) -> str:
        """The rule that would let a request go live, ready to paste."""
        words = [f"host={deed.host}:{deed.port}", f"method={deed.method}"] if deed.port else [f"host={deed.host}"]
        words += [f"tool={deed.tool}"] if deed.tool else [f"path={deed.path}"] if " " not in deed.path else []
        return " ".join([*words, "class=write"] if deed.effect == "write" else words)


def _pair(text: str, word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if name not in _MEMBERS or not equals or not value:
        raise NotAllowed(f"this rule cannot be read at {word!r}: {text!r}", hint=_HINT)
    return name, value


def _said(text: str, word: str) -> bool:
    if word not in ("yes", "no"):
        raise NotAllowed(f"this rule says neither yes nor no: {text!r}", hint="live=no, repeat=yes")
    return word == "yes"
