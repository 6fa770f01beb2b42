"""What is settled, and said, before a recording begins."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from proxy.agent.freezing import LIBRARY_HINT
from proxy.agent.process import refuse_unstartable
from proxy.agent.upstream import upstream_proxy
from proxy.border import Misuse
from proxy.talk import Talk
from proxy.words import count, moment, shown
from store.core.draft import TEXT_BYTES_MAX
from store.core.model import Gap
from store.egress import Proxy, UnusableProxy
from store.reader import Reader, RunInfo

if TYPE_CHECKING:
    from addons.places import Places
    from proxy.agent.revival import Revival

REPLAY_VARIABLE = "EDGETAPE_REPLAY"  # in an agent's environment: the run that it is answered from


def named(what: str, text: str | None) -> str | None:
    """A name as it is, if the run can be found by it. Raises Misuse."""
    if text is None:
        return None
    try:
        length = len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise Misuse(f"the {what} is no UTF-8, and could not be found again", hint="spell it in UTF-8") from None
    if length > TEXT_BYTES_MAX:
        raise Misuse(
            f"a {what} has at most {TEXT_BYTES_MAX:,} bytes, this one has {length:,}",
            hint="say more in a --label",
        )
    return text


def labelled(texts: Iterable[str]) -> dict[str, str]:
    """The labels that `KEY=VALUE` spells. Raises Misuse."""
    labels: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise Misuse(f"a label is KEY=VALUE, not {text}")
        labels[key] = value
    return labels


def places(given: Sequence[str]) -> "Places":
    """What is passed through. Raises Misuse."""
    from addons.places import NoPlace, Places  # mitmproxy takes a second, and a replay does without it

    try:
        return Places.parse(given)
    except NoPlace as error:
        raise Misuse(str(error), hint=error.hint) from error


def warn_of_proxy(talk: Talk, environment: Mapping[str, str]) -> None:
    """Says that the user's own proxy is of a kind that cannot be gone through."""
    upstream = upstream_proxy(environment)
    for url in dict.fromkeys(filter(None, (upstream.https, upstream.http))):
        try:
            Proxy.parse(url)
        except UnusableProxy as error:
            talk.warn(f"{error}: whatever would go through it gets a 503", error.hint)


def replayed(talk: Talk, reader: Reader, word: str) -> RunInfo:
    """The run that is to be replayed; says what its recording lacks. Raises UnknownRun."""
    info = reader.find(word)
    for event in reader.events(info.id):
        match event.facts:
            case Gap(since=since, until=until, reason=reason):
                why = shown(reader.text(event, reason))
                talk.warn(f"the recording lacks what was from {moment(since)} to {moment(until)}: {why}")
    return info


def refuse_unreached(reader: Reader, run: RunInfo, step: int) -> None:
    """Raises Misuse for a step that neither a run nor any of its child runs has."""
    from replay_server.kin import gathered  # who records does without it

    if step <= run.steps:
        return
    found, _ = gathered(reader, run, reader.events)
    if all((each.step or 0) < step for each in found):
        many = count(run.steps, "step")
        raise Misuse(f"run {run.id} has no step {step}: it has {many}", hint=f"edgetape show {run.id}")


def warn_of_time(talk: Talk, revived: "Revival") -> None:
    """Says that the recorded time cannot be given here."""
    if revived.lacks_library:
        talk.warn("the recorded time cannot be given to the agent: libfaketime is not installed here", LIBRARY_HINT)


def refuse_in_replay(environment: Mapping[str, str]) -> None:
    """Raises Misuse inside a replay, where nothing comes from outside and so nothing is to be recorded."""
    if environment.get(REPLAY_VARIABLE):
        raise Misuse("this runs inside a replay: there is nothing to record", hint="run it outside of the replay")


def join_replay(talk: Talk, argv: Sequence[str], environment: Mapping[str, str]) -> None:
    """Inside a replay, becomes the command: what it asks for is answered like all the rest. Else does nothing.

    Raises AgentNotStarted.
    """
    if environment.get(REPLAY_VARIABLE):
        refuse_unstartable(argv, environment)
        talk.say("edgetape: inside a replay nothing is recorded: the command is answered from the recording too")
        os.execvpe(argv[0], list(argv), dict(environment))  # noqa: S606  # without a shell, as is meant
