"""What a verifier asks for and whom he trusts, from a file of his own (TOML); pure but for reading it.

A policy is the verifier's, never part of what is verified: no key and no certificate is trusted because it came along.
"""

import tomllib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from store.core.checkpoint import VerifierKey
from store.core.cosignature import WitnessKey
from store.core.errors import EdgetapeError, Malformed
from store.outside import token
from store.outside.token import Authority

SKEW_S = 300
FLAGS = (
    "UNATTRIBUTED",
    "UNWITNESSED",
    "UNTIMED",
    "OPEN_RUN",
    "UNSEALED_TAIL",
    "PAYLOADS_ERASED",
    "GAPS",
    "IMPORTED",
    "STALE_CATALOGUE",
    "PARTIAL_LOG",
    "PAYLOADS_WITHHELD",
)


class UnusablePolicy(EdgetapeError):
    """A policy that cannot be read, or says what no policy can."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What is asked for.

    `pins`: keys of which the log has to name one. `quorum`: how many of `witnesses` must have cosigned. `authorities`:
    whose time stamps count; with `timed` one of them must cover every event. Runs must have begun after `not_before`
    and existed by `not_after`; clocks may be `skew_s` seconds wrong. No flag of `forbid` may be up.
    """

    pins: tuple[VerifierKey, ...] = ()
    witnesses: tuple[WitnessKey, ...] = ()
    quorum: int = 0
    authorities: tuple[Authority, ...] = ()
    timed: bool = False
    not_before: datetime | None = None
    not_after: datetime | None = None
    skew_s: int = SKEW_S
    forbid: tuple[str, ...] = ()


NO_POLICY = Policy()


class _Witnesses(msgspec.Struct, forbid_unknown_fields=True):
    keys: list[str]
    quorum: int = 1


class _Authority(msgspec.Struct, forbid_unknown_fields=True):
    roots: str
    certificate: str | None = None
    policy: str | None = None


class _Time(msgspec.Struct, forbid_unknown_fields=True):
    required: bool = True
    not_before: datetime | None = None
    not_after: datetime | None = None
    skew_s: int = SKEW_S


class _File(msgspec.Struct, forbid_unknown_fields=True):
    pins: list[str] = []
    forbid: list[str] = []
    witnesses: _Witnesses | None = None
    authority: list[_Authority] = []
    time: _Time | None = None


def read(path: Path) -> Policy:
    """The policy in a file; files that it names are looked for beside it. Raises UnusablePolicy."""
    try:
        return _policy(msgspec.convert(tomllib.loads(path.read_text("utf-8")), _File), path.parent)
    except OSError as error:
        where = error.filename or path
        raise UnusablePolicy(f"{where} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError, Malformed) as error:
        raise UnusablePolicy(f"the policy {path} makes no sense: {error}", hint="docs/anchors.md has one") from None


def _policy(said: _File, folder: Path) -> Policy:
    witnesses = said.witnesses or _Witnesses([], 0)
    time = said.time or _Time(required=bool(said.authority))
    keys = tuple(map(WitnessKey.parse, witnesses.keys))
    _demand(len(set(keys)) == len(keys), "a witness is named twice")
    _demand(0 <= witnesses.quorum <= len(keys), "the quorum is more than the witnesses that are named")
    _demand(bool(said.authority) or not (said.time and time.required), "times are asked for, but no [[authority]]")
    _demand(time.skew_s >= 0, "skew_s is negative")
    for each in said.forbid:
        _demand(each in FLAGS, f"there is no flag {each}")
    for bound in (time.not_before, time.not_after):
        _demand(bound is None or bound.tzinfo is not None, "a time has no zone: write it with a Z at its end")
    return Policy(
        pins=tuple(map(VerifierKey.parse, said.pins)),
        witnesses=keys,
        quorum=witnesses.quorum,
        authorities=tuple(_authority(each, folder) for each in said.authority),
        timed=time.required,
        not_before=time.not_before,
        not_after=time.not_after,
        skew_s=time.skew_s,
        forbid=tuple(said.forbid),
    )


def _authority(said: _Authority, folder: Path) -> Authority:
    roots = token.certificates((folder / said.roots).read_bytes())
    one = None
    if said.certificate is not None:
        one, *more = token.certificates((folder / said.certificate).read_bytes())
        _demand(not more, f"{said.certificate} holds more than one certificate")
    return Authority(roots, one, said.policy)


def _demand(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Malformed(otherwise)
