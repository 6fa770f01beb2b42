"""What a person is told when a recording has ended."""

from pathlib import Path

from proxy.sessions.recording import Recording
from proxy.talk import Talk
from proxy.views.challenge import challengers
from proxy.views.silence import challenge, distrust, likely_cause
from proxy.views.summary import summary
from proxy.words import count, duration, microseconds_between, printable
from store.exchange import steps
from store.reader import Reader

_ATTEMPTS_MAX = 10


def say_recorded(talk: Talk, store: Path, keys: Path, recording: Recording) -> None:
    """Says what the run came to, what went wrong, and what to type next."""
    with Reader.open(store, keys) as reader:
        run = reader.run(recording.run)
        happened = steps(reader.events(run.id))
        counted, challenged = summary(happened, reader), challengers(happened, reader)
    if recording.failure:
        talk.error(f"the recording is incomplete: {recording.failure}", "edgetape verify last")
    if recording.cut:
        still = count(recording.cut, "exchange or tunnel", "exchanges or tunnels")
        talk.warn(
            f"{still} of processes that outlived the agent went on, and had to be cut",
            "a long-lived recorder has no agent to end with: edgetape proxy",
        )
    if recording.seen.attempts:
        tried = printable(", ".join(recording.seen.attempts[:_ATTEMPTS_MAX]), one_line=True)
        more = (
            f" and {len(recording.seen.attempts) - _ATTEMPTS_MAX} more"
            if len(recording.seen.attempts) > _ATTEMPTS_MAX
            else ""
        )
        talk.error(f"REFUSED: the agent tried to get past the recorder: {tried}{more}", "edgetape doctor")
    if recording.seen.servers:
        ports = ", ".join(map(str, recording.seen.servers[:_ATTEMPTS_MAX]))
        talk.warn(
            f"servers of the agent's own listened inside its enclosure (port {ports}): what it said to them is"
            " not on record",
            "without --enforce they pass as tunnels, and --local record opens them",
        )
    if counted.exchanges == 0:
        told = sum(step.step is not None for step in happened)
        cause = likely_cause(recording.noticed, told)
        talk.warn(f"no exchange was recorded: {cause.sentence}", cause.hint)
    elif recording.noticed.distrusted:
        cause = distrust(recording.noticed.distrusted)
        talk.warn(cause.sentence, cause.hint)
    for host, step in challenged.items():
        cause = challenge(host, step)
        talk.warn(cause.sentence, cause.hint)
    name = f" {printable(run.name, one_line=True)}" if run.name else ""
    lasted = duration(microseconds_between(run.opened, run.closed)) if run.closed else "still open"
    talk.say(f"edgetape: recorded run{name} {run.id}: {counted.sentence}; {lasted}")
    talk.say("next: edgetape show last; edgetape verify last; edgetape replay last")
