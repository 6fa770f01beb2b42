"""Why a recording saw nothing, or something else than the agent would have, as far as that can be told. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from proxy.words import count, printable

_IGNORES = (
    "some clients ignore HTTPS_PROXY (PHP's streams, Bun's node:https, `python -I`): set the client's own proxy option,"
    " or its base URL; `edgetape doctor` tries those of this machine"
)
_DISTRUST = (
    "the client brings its own roots: point it at the file that SSL_CERT_FILE names, or let that host pass unopened"
    " with --passthrough HOST or --on-distrust tunnel"
)


@dataclass(frozen=True, slots=True)
class Noticed:
    """What the recorder saw besides exchanges; `distrusted` counts refused certificates by host."""

    tunnels: int
    distrusted: Mapping[str, int]
    exit_code: int


@dataclass(frozen=True, slots=True)
class Cause:
    """One likely cause, and what to do about it."""

    sentence: str
    hint: str


def likely_cause(noticed: Noticed, told: int = 0) -> Cause:
    """The likeliest reason for a run without an exchange, in which the agent asked or told the recorder itself
    something `told` times.
    """
    if noticed.distrusted and noticed.tunnels:  # as --on-distrust tunnel has it: that is no advice any more
        passed = count(noticed.tunnels, "tunnel")
        sentence = f"{distrust(noticed.distrusted).sentence}; what else came passed unopened, in {passed}"
        return Cause(sentence, "to have it recorded, point the client at the file that SSL_CERT_FILE names")
    if noticed.distrusted:
        return distrust(noticed.distrusted)
    if told:
        sentence = f"the agent spoke with the recorder alone ({count(told, 'value or note', 'values and notes')})"
        return Cause(sentence, "if it asked servers as well, their client goes past: " + _IGNORES)
    if noticed.tunnels:
        sentence = f"all of its traffic passed unopened, in {count(noticed.tunnels, 'tunnel')}"
        return Cause(sentence, "`edgetape show` says to whom and why")
    if noticed.exit_code:
        sentence = f"the agent ended with exit code {noticed.exit_code}, perhaps before its first request"
        return Cause(sentence, "see what it said above; " + _IGNORES)
    return Cause(
        "nothing connected to the recorder: the agent made no request, or its client ignores the proxy", _IGNORES
    )


def distrust(hosts: Mapping[str, int]) -> Cause:
    """Clients that did not accept our certificates."""
    named = ", ".join(printable(host, one_line=True) for host in sorted(hosts)[:5])
    return Cause(f"a client does not trust edgetape's authority for {named}", _DISTRUST)


def challenge(host: str, step: int) -> Cause:
    """A server that took the recorder for a bot."""
    named = printable(host, one_line=True)
    return Cause(
        f"{named} answered step {step} with a page that keeps bots out: it may know the recorder by its TLS, and let"
        " the agent itself pass. Then the recording has changed what the agent saw",
        f"--passthrough {named} lets it pass unopened, recorded as a tunnel; edgetape disguises nothing",
    )
