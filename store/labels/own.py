"""A company's own rules: what a request to its hosts is, where no dialect can know.

    [[labels.rules]]
    host = "*.erp.example.com"        # * for any letters; the first rule that fits counts
    method = "POST"                   # may be left out, as path may
    path = "/orders/*"
    class = "tool"                    # llm, tool, mcp, embedding, auth, telemetry, other
    tool = "create_order"
    effect = "write"                  # read, idempotent, write, unknown
    receipt = "/order/id"             # JSON Pointer (RFC 6901) into the answer

What a rule does not say stays as the dialects found it. Pure.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import cast, get_args

from store.core import canonical
from store.core.errors import EdgetapeError
from store.labels import classify
from store.labels.dialect import Boundary, Effect, Kind, RequestLabels, ResponseLabels
from store.labels.tree import Json
from store.labels.wire import HeaderPairs, Request, Response

DIGEST_DIGITS = 32
RECEIPT_CHARACTERS_MAX = 200

_MEMBERS = ("host", "method", "path", "class", "tool", "effect", "receipt")
_HINT = f"a rule has host, and may have {', '.join(_MEMBERS[1:])}"


class BadOwnRule(EdgetapeError):
    """A rule that means nothing."""


@dataclass(frozen=True, slots=True)
class OwnRule:
    """One rule; what it does not say is None, or fits everything."""

    host: re.Pattern[str]
    method: str | None
    path: re.Pattern[str]
    kind: Kind | None
    tool: str | None
    effect: Effect | None
    receipt: str | None

    def fits(self, request: Request) -> bool:
        """Whether a request is meant."""
        said = self.method in (None, request.verb)
        return bool(said and self.host.fullmatch(request.site) and self.path.fullmatch(request.route))

    def on(self, labels: RequestLabels) -> RequestLabels:
        """What the dialects found, as this rule has it."""
        kind, effect = self.kind or labels.kind, self.effect or labels.effect
        decides: Boundary = "decision" if kind == "llm" else "input" if effect == "read" else "effect"
        boundary = decides if self.kind or self.effect else labels.boundary
        tool = self.tool or labels.tool
        return replace(labels, kind=kind, effect=effect, boundary=boundary, tool=tool, receipt=self.receipt or "")


@dataclass(frozen=True, slots=True)
class OwnRules:
    """All of an operator's rules; `digest` is empty where there are none."""

    rules: tuple[OwnRule, ...] = ()
    digest: str = ""

    @property
    def version(self) -> str:
        """What event 0 says of the rules that classify: ours, and the digest of these."""
        return f"{classify.RULES}+{self.digest}" if self.digest else classify.RULES

    def label(self, request: Request) -> RequestLabels:
        """The labels of a request."""
        found = classify.label(request)
        rule = next((rule for rule in self.rules if rule.fits(request)), None)
        return found if rule is None else replace(rule.on(found), rules=self.version)

    def response_labels(self, request: RequestLabels, status: int, headers: HeaderPairs, body: bytes) -> ResponseLabels:
        """The labels of the answer to a request that has these."""
        found = classify.response_labels(request, status, headers, body)
        if not request.rules:
            return found
        receipt = _receipt(Response(status, headers, body), request.receipt) if request.receipt else found.receipt
        return replace(found, receipt=receipt, rules=request.rules)


NO_RULES = OwnRules()


def parsed(said: Mapping[str, object]) -> OwnRules:
    """What the table [labels] says. Raises BadOwnRule."""
    unknown = [name for name in said if name != "rules"]
    rules = said.get("rules", [])
    if unknown or not isinstance(rules, list):
        raise BadOwnRule(f"labels has no {', '.join(unknown) or 'such rules'}", hint="[[labels.rules]], one for each")
    if not rules:
        return NO_RULES
    made = tuple(_rule(number, rule) for number, rule in enumerate(rules, start=1))
    spelled = canonical.encode({"rules": cast("list[canonical.Json]", rules)})
    return OwnRules(made, hashlib.sha256(spelled).hexdigest()[:DIGEST_DIGITS])


def _rule(number: int, said: object) -> OwnRule:
    if not isinstance(said, dict) or not all(isinstance(value, str) for value in said.values()):
        raise BadOwnRule(f"labels rule {number} is no table of texts", hint=_HINT)
    unknown = [name for name in said if name not in _MEMBERS]
    if unknown or not said.get("host"):
        raise BadOwnRule(f"labels rule {number} has {unknown[0] if unknown else 'no host'}", hint=_HINT)
    receipt = said.get("receipt")
    if receipt is not None and not receipt.startswith("/"):
        raise BadOwnRule(f"labels rule {number}: receipt {receipt!r} is no JSON Pointer", hint="receipt = '/order/id'")
    return OwnRule(
        host=_pattern(said["host"].lower()),
        method=said["method"].upper() if "method" in said else None,
        path=_pattern(said.get("path", "*")),
        kind=cast("Kind | None", _one_of(number, "class", said.get("class"), get_args(Kind))),
        tool=said.get("tool"),
        effect=cast("Effect | None", _one_of(number, "effect", said.get("effect"), get_args(Effect))),
        receipt=receipt,
    )


def _one_of(number: int, name: str, value: str | None, choices: Iterable[str]) -> str | None:
    if value is not None and value not in choices:
        raise BadOwnRule(f"labels rule {number}: no {name} is called {value!r}", hint=f"{', '.join(choices)}")
    return value


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, text.split("*"))), re.DOTALL)


def _receipt(response: Response, pointer: str) -> str | None:
    """What the answer of a request that was carried out has there, where it is short."""
    found: Json = response.json if 200 <= response.status < 300 else None
    for token in pointer[1:].split("/"):
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict):
            found = found.get(name)
        elif isinstance(found, list) and name.isascii() and name.isdecimal() and int(name[:9]) < len(found):
            found = found[int(name[:9])]
        else:
            return None
    if isinstance(found, int) and not isinstance(found, bool):
        return str(found)
    return found[:RECEIPT_CHARACTERS_MAX] if isinstance(found, str) and found else None
