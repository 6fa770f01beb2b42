"""Finds what a live request is matched with: in the recorded run that it belongs to, at the server that it is for."""

from contextlib import suppress
from dataclasses import dataclass

from msgspec import structs

from replay_server.findings import Findings
from replay_server.grouping import Groups
from replay_server.kin import Kin
from replay_server.labels import TELEMETRY, kind
from replay_server.match import Match, Matcher, Tier
from replay_server.normalise import Normal, Told
from replay_server.tape import Tape
from store.core.form import Asked, Form, Pairs, first
from store.reader import BodyUnavailable

_TYPE = b"content-type"
_UNLIKE = (Tier.DRIFTED, Tier.EXHAUSTED, Tier.UNEXPECTED)
_RANKS = {tier: rank for rank, tier in enumerate(Tier)}


@dataclass(frozen=True, slots=True)
class Search:
    """Of one session."""

    tape: Tape
    kin: Kin
    groups: Groups
    matcher: Matcher
    findings: Findings

    def find(self, said: Told, *, placed: bool) -> tuple[Form, Match, bool]:
        """The best match, and whether it is in a recorded child run.

        A request that names no authority is tried as one for each that it can be for.
        """
        asked = said.asked
        normal = self.tape.rules.normal(asked)
        run = self.kin.run(said.run, lambda run: self._match(asked, normal, run))
        best = self._match(asked, normal, run)
        if not placed:
            for one in self.tape.authorities(asked.endpoint.method, normal.form.endpoint.path):
                moved = asked.endpoint._replace(scheme=one.scheme, host=one.host, port=one.port)
                there = structs.replace(asked, endpoint=moved)
                tried = self.tape.rules.normal(there)
                match = self._match(there, tried, run)
                if _RANKS[match.tier] < _RANKS[best.tier]:
                    normal, best = tried, match
        if best.tier in _UNLIKE and self.tape.in_part:
            best = self._in_part(normal, asked, run) or best
        if best.tier is Tier.UNEXPECTED and kind(structs.replace(asked, endpoint=normal.form.endpoint)) == TELEMETRY:
            best = Match(Tier.OPTIONAL)
        self.findings.ignored.update(normal.counts)
        if best.tier is Tier.OPTIONAL and normal.optional:
            self.findings.allowed[normal.optional] += 1
        return normal.form, best, run != self.kin.own

    def _in_part(self, normal: Normal, asked: Asked, run: str) -> Match | None:
        """A recorded request of whose body the beginning alone is known, as of an upload that was refused.

        One that begins with it is equal.
        """
        for index in self.tape.in_part:
            same_place = self.tape.endpoints[index] == normal.form.endpoint and self.tape.run_of(index) == run
            if index in self.matcher.served or not same_place:
                continue
            with suppress(BodyUnavailable):
                recorded = self.tape.asked(index)
                headers = recorded.headers if recorded.body else _parted_alike(recorded.headers, asked.headers)
                whole = self.tape.rules.normal(structs.replace(recorded, headers=headers, body=asked.body)).form
                if asked.body.startswith(recorded.body) and whole.key == normal.form.key:
                    return Match(Tier.SAME, index)
        return None

    def _match(self, asked: Asked, normal: Normal, run: str) -> Match:
        self.tape.hear(asked, normal)
        return self.matcher.find(normal.form, self.groups.optional(normal), run)


def _parted_alike(recorded: Pairs, live: Pairs) -> Pairs:
    """Recorded headers, with the live boundary in place of the recorded one, which only a body can be told by."""
    types = [first(headers, _TYPE) for headers in (recorded, live)]
    if not all(each.lower().startswith(b"multipart/") for each in types):
        return recorded
    return [(name, types[1] if name.lower() == _TYPE else value) for name, value in recorded]
