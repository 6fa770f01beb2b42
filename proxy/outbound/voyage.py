"""One live mode from the command line, from its consent to its report: what fork, compare, sandbox and replay share."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from proxy import loop
from proxy.agent.identity import Introduction
from proxy.border import Misuse
from proxy.options import Shared
from proxy.stores import upkeep
from proxy.talk import Talk
from replay_server.options import LiveOptions, ReplayOptions
from replay_server.plan import Plan
from replay_server.registry import Registry
from replay_server.ventures.choice import Children
from replay_server.ventures.sandbox import NO_FAKES, Fakes

if TYPE_CHECKING:
    from proxy.confined.confinement import Confinement, Unconfined
    from replay_server.report import Report
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
    """The report, or the exit code where nothing was started. Raises Misuse and what the store raises."""
    from proxy.agent.process import AgentNotStarted
    from proxy.agent.revival import revival
    from proxy.sessions.opening import replayed, warn_of_time
    from proxy.sessions.replaying import Stage, replay
    from proxy.stores.tapes import taken_in
    from replay_server.modes import NotAllowed
    from store.authority import Authority
    from store.core import redact
    from store.reader import Reader

    word = taken_in(talk, shared, voyage.word)
    with Reader.open(shared.store, shared.keys) as reader:
        info = replayed(talk, reader, word)
        revived = revival(reader, info, voyage.argv, {**os.environ, **voyage.variables})
        warn_of_time(talk, revived)
        registry = _consented(talk, reader, info, voyage)
        if registry is None:
            return declined(talk)
        live = replace(_way_out(shared, voyage, registry, confinement), standins=revived.standins)
        options = replace(voyage.options, live=live, secrets=redact.secrets_of(revived.environment))
        about = replace(voyage.about, name=info.name or None) if voyage.takes_name else voyage.about
        authority = Authority.open_or_create(shared.authority)
        with upkeep.opened(talk, shared) as writer:
            stage = Stage(reader, writer, authority, confinement, voyage.terms.allowed_ports)
            try:
                return loop.run(talk, replay(stage, info, revived, options, about))
            except AgentNotStarted as error:
                talk.error(str(error), error.hint)
                return error.exit_code
            except NotAllowed as error:
                raise Misuse(str(error), hint=error.hint) from error


def declined(talk: Talk) -> int:
    """What there is to say, and the exit code, where a person said no."""
    talk.always("edgetape: nothing was started")
    return DECLINED


def agreed(talk: Talk, shared: Shared, voyage: Voyage) -> bool:
    """Says what may leave, without starting anything; whether a person agrees."""
    from store.reader import Reader

    with Reader.open(shared.store, shared.keys) as reader:
        return _consented(talk, reader, reader.find(voyage.word), voyage) is not None


def _consented(talk: Talk, reader: "Reader", run: "RunInfo", voyage: Voyage) -> Registry | None:
    """The whole registry, once somebody has agreed to what may leave; else None."""
    from proxy.outbound import consent
    from store.exchange import exchanges

    proposal = voyage.proposal
    asked = exchanges(reader.events(run.id)) if proposal.asks_models else []
    servers = consent.model_servers(asked, proposal.since, reader)
    registry = proposal.registry.with_models((server.host, server.port) for server in servers)
    said = consent.announcement(
        proposal.opening, servers, registry, since=proposal.since, fakes=proposal.fakes, filed=proposal.filed
    )
    return registry if consent.agree(talk, said, yes=voyage.terms.yes) else None


def _way_out(
    shared: Shared, voyage: Voyage, registry: Registry, confinement: "Confinement | Unconfined"
) -> LiveOptions:
    """What the server is told."""
    from proxy.confined.confinement import Unconfined
    from proxy.outbound.dial import route_of
    from proxy.outbound.ferry import Ferry, reach
    from proxy.stores.policy import own_rules
    from store import trust

    ferry = None if isinstance(confinement, Unconfined) else confinement.ferry
    return LiveOptions(
        plan=voyage.proposal.plan(registry),
        dial=reach(route_of(os.environ)) if ferry is None else Ferry(ferry).dial,
        roots=trust.server_roots(os.environ, voyage.terms.upstream_ca),
        children=voyage.terms.children,
        own=own_rules(shared, Path.cwd()),
    )
