"""Who is told about the agent rather than by it: hosts and paths that take traces, metrics, events and crash reports.

Replay lets telemetry come in any order or not at all, so only what is certainly telemetry stands here.
"""

import re
from collections.abc import Iterator

from store.labels.dialect import Answer, RequestLabels
from store.labels.wire import Request, Response

_HOSTS = frozenset(
    (
        "ab.chatgpt.com",
        "agent.datadoghq.com",
        "analytics.google.com",
        "api.amplitude.com",
        "api.honeycomb.io",
        "api.mixpanel.com",
        "api.segment.io",
        "api.smith.langchain.com",
        "api2.amplitude.com",
        "app.posthog.com",
        "bugsnag.com",
        "cloud.langfuse.com",
        "eu.i.posthog.com",
        "events.statsigapi.net",
        "featureassets.org",
        "google-analytics.com",
        "http-intake.logs.datadoghq.com",
        "ingest.sentry.io",
        "ingest.us.sentry.io",
        "ingest.de.sentry.io",
        "logfire-api.pydantic.dev",
        "logfire-eu.pydantic.dev",
        "logfire-us.pydantic.dev",
        "nr-data.net",
        "prodregistryv2.org",
        "statsig.anthropic.com",
        "statsigapi.net",
        "telemetry.crewai.com",
        "telemetry.nextjs.org",
        "telemetry.vercel.com",
        "us.cloud.langfuse.com",
        "us.i.posthog.com",
    )
)
_PATHS = re.compile(
    r"/v1/traces/ingest$"  # openai-agents
    r"|/api/event_logging/"  # Claude Code
    r"|/crewai_plus/api/v1/tracing/"
    r"|/api/\d+/(envelope|store)/?$"  # Sentry, any host
    r"|/api/public/(ingestion|otel)\b"  # Langfuse, any host
)
_OTLP = re.compile(r"/v1/(traces|metrics|logs)/?$")
_OTLP_MEMBERS = ("resourceSpans", "resourceMetrics", "resourceLogs")


def recognise(request: Request) -> RequestLabels | None:
    """The labels of telemetry."""
    known = any(name in _HOSTS for name in _above(request.site)) or _PATHS.search(request.route)
    if not known and not _is_otlp(request):
        return None
    reads = request.verb in ("GET", "HEAD")
    return RequestLabels("telemetry", "input" if reads else "effect", "read" if reads else "write")


def read(labels: RequestLabels, response: Response) -> Answer | None:
    """Telemetry is answered with nothing to tell."""
    del response
    return Answer() if labels.kind == "telemetry" else None


def _above(host: str) -> Iterator[str]:
    """A host, and all domains that it belongs to."""
    while host:
        yield host
        host = host.partition(".")[2]


def _is_otlp(request: Request) -> bool:
    """OTLP/HTTP: protobuf, or JSON with the members of its export requests."""
    if request.verb != "POST" or not _OTLP.search(request.route):
        return False
    protobuf = request.header("content-type").startswith("application/x-protobuf")
    return protobuf or any(name in request.sources for name in _OTLP_MEMBERS)
