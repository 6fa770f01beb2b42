"""One live mode from the command line, from its consent to its report: what fork, compare, sandbox and replay share."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from proxy import loop
from proxy.agent.identity import Introduction
from proxy.border import Misuse
from proxy.configuration import well_said
from proxy.options import Shared
from proxy.stores import upkeep
from proxy.talk import Talk
from replay_server.options import LiveOptions, ReplayOptions
from replay_server.plan import Plan
from replay_server.registry import Registry
from replay_server.ventures.choice import Children
from replay_server.ventures.sandbox import NO_FAKES, Fakes

if TYPE_CHECKING:
    from proxy.agent.revival import Revival
    from proxy.confined.confinement import Confinement, Unconfined
    from proxy.outbound.consent import ModelServer
    from replay_server.report import Report
    from store.labels.own import OwnRules
    from store.reader import Reader, RunInfo

DECLINED = 1


@dataclass(frozen=True, slots=True)
class Proposal:
    """What may leave: the user's rules and fakes, and the recording's models if `asks_models`.

    `opening` is the sentence that it is announced with; requests to models are counted from the step `since` on;
    `filed` are the rules that a settings file brought in; `plan` is made from the whole registry.
    """

    opening: str
    registry: Registry
    plan: Callable[[Registry], Plan]
    since: int = 1
    asks_models: bool = True
    fakes: Fakes = NO_FAKES
    filed: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Terms:
    """How the way out is taken: agreed to already, through which roots, with which children."""

    yes: bool
    upstream_ca: Path | None
    children: Children = "recorded"
    allowed_ports: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Voyage:
    """One live mode over the run that `word` means, with `argv` or the recorded command.

    `variables` are put into the agent's environment; `about` gives the new run a name and labels, and with
    `takes_name` it has that of the recorded run, which from then on means the new one.
    """

    word: str
    argv: Sequence[str]
    proposal: Proposal
    options: ReplayOptions
    terms: Terms
    about: Introduction = field(default_factory=Introduction)
    variables: Mapping[str, str] = field(default_factory=dict)
    takes_name: bool = False


def confined(mode: str, allowed_ports: Sequence[int], *, no_confine: bool) -> "Confinement | Unconfined":
    """Confines this process, with a way out for the server alone; call it before anything else.

    Raises Misuse where that cannot be, unless the agent may keep its network.
    """
    from proxy.confined.confinement import Unconfined, enter

    confinement = Unconfined("as asked") if no_confine else enter(allowed_ports, goes_live=True)
    if isinstance(confinement, Unconfined) and not no_confine:
        raise Misuse(
            f"a {mode} goes live, and the agent cannot be confined: {confinement.reason}",
            hint=confinement.hint or "--no-confine lets it run with the network it has",
        )
    return confinement


def carried_out(talk: Talk, shared: Shared, voyage: Voyage, confinement: "Confinement | Unconfined") -> "Report | int":
    """The report, or the exit code where nothing was started.

    Raises Misuse, AgentNotStarted, NoRoots, and what the store raises.
    """
    from proxy.sessions.opening import replayed, warn_of_time
    from proxy.sessions.replaying import Stage, replay
    from proxy.stores.tapes import taken_in
    from store.authority import Authority
    from store.core import redact
    from store.reader import Reader

    word = taken_in(talk, shared, voyage.word)
    with Reader.open(shared.store, shared.keys) as reader:
        info = replayed(talk, reader, word)
        course = _course(shared, reader, info, voyage)
        revived = course.revived
        warn_of_time(talk, revived)
        if not _consented(talk, course, voyage):
            return declined(talk)
        live = _way_out(course, voyage, confinement)
        options = replace(voyage.options, live=live, secrets=redact.secrets_of(revived.environment))
        about = replace(voyage.about, name=info.name or None) if voyage.takes_name else voyage.about
        authority = Authority.open_or_create(shared.authority)
        with upkeep.opened(talk, shared) as writer:
            stage = Stage(reader, writer, authority, confinement, voyage.terms.allowed_ports)
            return loop.run(talk, replay(stage, info, revived, options, about))


def declined(talk: Talk) -> int:
    """What there is to say, and the exit code, where a person said no."""
    talk.always("edgetape: nothing was started")
    return DECLINED


def agreed(talk: Talk, shared: Shared, voyage: Voyage) -> bool:
    """Says what may leave, without starting anything; whether a person agrees.

    Raises Misuse, AgentNotStarted, NoRoots, and what the store raises.
    """
    from store.reader import Reader

    with Reader.open(shared.store, shared.keys) as reader:
        return _consented(talk, _course(shared, reader, reader.find(voyage.word), voyage), voyage)


@dataclass(frozen=True, slots=True)
class _Course:
    """A voyage that can be made: who is run, the recording's models, what may leave, whom servers must be known to."""

    revived: "Revival"
    servers: Sequence["ModelServer"]
    registry: Registry
    roots: bytes
    own: "OwnRules"


def _course(shared: Shared, reader: "Reader", run: "RunInfo", voyage: Voyage) -> _Course:
    """Holds all that was said against the recording and the machine, so that nobody is asked about what cannot be.

    Raises Misuse, AgentNotStarted, NoRoots, and what the store raises.
    """
    from proxy.agent.process import refuse_unstartable
    from proxy.agent.revival import revival
    from proxy.outbound.consent import model_servers
    from proxy.stores.policy import own_rules
    from replay_server.normalise import Rules
    from replay_server.tape import Tape
    from store import trust

    proposal, options = voyage.proposal, voyage.options
    revived = revival(reader, run, voyage.argv, {**os.environ, **voyage.variables})
    refuse_unstartable(revived.argv, revived.environment, revived.folder)
    with well_said():
        rules = Rules.of(options.ignore, options.optional, shipped=options.agent_rules)
        tape = Tape(reader, run, rules, unverified=options.unverified)
        servers = model_servers(tape.own() if proposal.asks_models else (), proposal.since, reader)
        registry = proposal.registry.with_models((server.host, server.port) for server in servers)
        proposal.plan(registry).start(tape)
    roots = trust.server_roots(os.environ, voyage.terms.upstream_ca)
    return _Course(revived, servers, registry, roots, own_rules(shared, Path.cwd()))


def _consented(talk: Talk, course: _Course, voyage: Voyage) -> bool:
    """Whether somebody agrees to what may leave."""
    from proxy.outbound import consent

    proposal = voyage.proposal
    said = consent.announcement(
        proposal.opening,
        course.servers,
        course.registry,
        since=proposal.since,
        fakes=proposal.fakes,
        filed=proposal.filed,
    )
    return consent.agree(talk, said, yes=voyage.terms.yes)


def _way_out(course: _Course, voyage: Voyage, confinement: "Confinement | Unconfined") -> LiveOptions:
    """What the server is told."""
    from proxy.confined.confinement import Unconfined
    from proxy.outbound.dial import route_of
    from proxy.outbound.ferry import Ferry, reach

    ferry = None if isinstance(confinement, Unconfined) else confinement.ferry
    return LiveOptions(
        plan=voyage.proposal.plan(course.registry),
        dial=reach(route_of(os.environ)) if ferry is None else Ferry(ferry).dial,
        roots=course.roots,
        children=voyage.terms.children,
        own=course.own,
        standins=course.revived.standins,
    )
