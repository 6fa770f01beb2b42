"""What a recorder has counted, in the text format of Prometheus (exposition format 0.0.4). Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import store


@dataclass(frozen=True, slots=True)
class Metric:
    """One number; `labels` are spelled as the format has them."""

    name: str
    kind: Literal["counter", "gauge"]
    help: str
    value: float
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """How a recorder stands. `failing`: the store does not take what it is given; `unsigned`: nothing signs it."""

    exchanges: int = 0
    tunnels: int = 0
    refused: int = 0
    failures: int = 0
    unlabelled: int = 0
    distrusted: int = 0
    open_runs: int = 0
    going_on: int = 0
    connections: int = 0
    failing: bool = False
    unsigned: bool = False
    draining: bool = False
    reloads: int = 0
    started_s: float = 0.0


def metrics(now: Snapshot) -> list[Metric]:
    """Everything that is told."""
    return [
        Metric("edgetape_exchanges_total", "counter", "Exchanges recorded.", now.exchanges),
        Metric("edgetape_tunnels_total", "counter", "Tunnels recorded.", now.tunnels),
        Metric("edgetape_refused_total", "counter", "Requests and connections refused.", now.refused),
        Metric("edgetape_failures_total", "counter", "Failures to record.", now.failures),
        Metric("edgetape_unlabelled_total", "counter", "Exchanges whose meaning was not found out.", now.unlabelled),
        Metric("edgetape_distrusted_total", "counter", "Clients that did not trust our authority.", now.distrusted),
        Metric("edgetape_reloads_total", "counter", "Times that the settings were read anew.", now.reloads),
        Metric("edgetape_open_runs", "gauge", "Runs that are open.", now.open_runs),
        Metric("edgetape_exchanges_in_progress", "gauge", "Exchanges that have no outcome yet.", now.going_on),
        Metric("edgetape_connections", "gauge", "Connections of agents.", now.connections),
        Metric("edgetape_store_failing", "gauge", "1 while the store takes nothing.", now.failing),
        Metric("edgetape_log_unsigned", "gauge", "1 while nothing signs the log.", now.unsigned),
        Metric("edgetape_draining", "gauge", "1 while it is ending.", now.draining),
        Metric("process_start_time_seconds", "gauge", "When it started, since the epoch.", now.started_s),
        Metric("edgetape_build_info", "gauge", "The version.", 1, (("version", store.__version__),)),
    ]


def exposition(told: Iterable[Metric]) -> str:
    """As Prometheus reads it."""
    return "".join(
        f"# HELP {one.name} {one.help}\n# TYPE {one.name} {one.kind}\n{one.name}{_labels(one)} {_number(one.value)}\n"
        for one in told
    )


def _labels(metric: Metric) -> str:
    said = ",".join(f'{name}="{_escaped(value)}"' for name, value in metric.labels)
    return f"{{{said}}}" if said else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
