"""What the verbs that go live share on the command line: their options, what these say, and how they end."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from proxy.options import Shared
from proxy.settings import Children
from proxy.talk import Talk

if TYPE_CHECKING:
    from proxy.confined.confinement import Confinement, Unconfined
    from proxy.outbound.voyage import Terms, Voyage
    from proxy.sessions.ending import Outlets
    from replay_server.options import ReplayOptions

LIVE = (
    "children", "yes", "upstream-ca", "ignore", "grace", "unverified", "no-confine", "allow-local", "json", "report",
)  # fmt: skip


class Given(TypedDict):
    """These options as click gives them."""

    children: Children
    yes: bool
    upstream_ca: Path | None
    ignored: Sequence[str]
    grace: float
    unverified: bool
    no_confine: bool
    allowed_ports: Sequence[int]
    as_json: bool
    report: Path | None


def replaying(given: Given) -> "ReplayOptions":
    """What the replay server is told by them, and by the project's settings."""
    from proxy.configuration import nearest
    from replay_server.options import ReplayOptions

    configured = nearest(Path.cwd())
    return ReplayOptions(
        grace_s=given["grace"],
        ignore=(*configured.ignore, *given["ignored"]),
        optional=configured.optional,
        unverified=given["unverified"],
    )


def terms(given: Given) -> "Terms":
    """How the way out is taken."""
    from proxy.outbound.voyage import Terms

    return Terms(given["yes"], given["upstream_ca"], given["children"], given["allowed_ports"])


def kept_in(shared: Shared, mode: str, given: Given) -> "Confinement | Unconfined":
    """Confines this process; call it before a thread is started or a store opened. Raises Misuse."""
    from proxy.outbound.voyage import confined
    from proxy.stores.reach import reach

    reach(shared, "", no_confine=given["no_confine"])
    return confined(mode, given["allowed_ports"], no_confine=given["no_confine"])


def concluded(
    talk: Talk, shared: Shared, voyage: "Voyage", confinement: "Confinement | Unconfined", outlets: "Outlets"
) -> int:
    """Carries it out, tells how it ended, and gives the exit code."""
    from proxy.outbound.voyage import carried_out
    from proxy.sessions.ending import tell

    report = carried_out(talk, shared, voyage, confinement)
    return report if isinstance(report, int) else tell(talk, report, outlets)
