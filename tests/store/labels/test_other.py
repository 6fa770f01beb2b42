"""Plain HTTP tools by the rules of HTTP; tokens, telemetry and package traffic are kept apart from them."""

import pytest

from store.labels.classify import label, response_labels
from store.labels.wire import Request
from tests.store.labels.exchanges import answer, post, request

TOOL = "https://tools.example/db"


@pytest.mark.parametrize(
    "asked, effect, boundary",
    [
        (request("GET", TOOL), "read", "input"),
        (request("HEAD", TOOL), "read", "input"),
        (request("PUT", TOOL), "idempotent", "effect"),
        (request("DELETE", TOOL), "idempotent", "effect"),
        (post(TOOL, {}), "write", "effect"),
        (request("PATCH", TOOL), "write", "effect"),
        (request("PURGE", TOOL), "unknown", "effect"),
        (post(TOOL, {}, {"idempotency-key": "k"}), "idempotent", "effect"),
        (post(f"{TOOL}/search", {}), "unknown", "effect"),
        (post(f"{TOOL}/users:query", {}), "unknown", "effect"),
        (post(f"{TOOL}/research", {}), "write", "effect"),
        (post(f"{TOOL}/graphql", {"query": "mutation { pay }"}), "write", "effect"),
        (post(f"{TOOL}/graphql", {"query": "{ me }"}), "unknown", "effect"),
    ],
)
def test_effects_follow_the_method(asked: Request, effect: str, boundary: str) -> None:
    labels = label(asked)
    assert (labels.kind, labels.effect, labels.boundary) == ("tool", effect, boundary)


@pytest.mark.parametrize(
    "path, tool",
    [
        ("/db/compliance.json?code=GB-SCT", "compliance.json"),
        ("/v1/users/1234", "users"),
        ("/orders/0190c1f2-aaaa-7bbb-8ccc-0123456789ab", "orders"),
        ("/", None),
        ("/123", None),
    ],
)
def test_a_tool_is_named_by_its_path_not_by_identifiers(path: str, tool: str | None) -> None:
    assert label(request("GET", f"https://tools.example{path}")).tool == tool


@pytest.mark.parametrize(
    "asked, kind",
    [
        (request("POST", "https://login.example/oauth/token", b"grant_type=client_credentials"), "auth"),
        (request("POST", "https://any.example/x", b"a=1&grant_type=refresh_token"), "auth"),
        (request("POST", "https://sts.eu-central-1.amazonaws.com/"), "auth"),
        (request("GET", "http://169.254.169.254/computeMetadata/v1/instance/service-accounts/default/token"), "auth"),
        (request("POST", "https://o1.ingest.sentry.io/api/1/envelope/"), "telemetry"),
        (request("POST", "https://collector/v1/traces", b"", {"content-type": "application/x-protobuf"}), "telemetry"),
        (post("https://collector/v1/metrics", {"resourceMetrics": []}), "telemetry"),
        (post("https://api.openai.com/v1/traces/ingest", {"data": []}), "telemetry"),
        (post("https://tools.example/v1/logs", {"query": "error"}), "tool"),
        (request("GET", "https://notsentry.io.example/"), "tool"),
        (request("GET", "https://mirror.example/simple/x/", headers={"user-agent": "pip/26.0 {}"}), "other"),
        (request("GET", "https://api.openai.com/v1/models"), "other"),
        (post("https://api.openai.com/v1/files", b"--x"), "other"),
        (request("OPTIONS", TOOL), "other"),
        (request("GET", "https://tools.example/", headers={"user-agent": "pipeline/1"}), "tool"),
        (request("GET", "https://tools.example/", headers={"user-agent": "Go-http-client/1.1"}), "tool"),
    ],
)
def test_what_is_no_tool_of_the_task_is_told_apart(asked: Request, kind: str) -> None:
    assert label(asked).kind == kind


@pytest.mark.parametrize(
    "status, headers, body, receipt",
    [
        (201, {"location": "/orders/7"}, {"id": 9}, "/orders/7"),
        (200, {}, {"id": 9}, "9"),
        (200, {}, {"confirmation_id": "c-1", "id": "9"}, "c-1"),
        (200, {}, {"ok": True}, None),
        (200, {}, [1], None),
        (500, {"location": "/x"}, {"id": 9}, None),
    ],
)
def test_a_write_leaves_its_receipt(status: int, headers: dict[str, str], body: object, receipt: str | None) -> None:
    response = answer(body, status, headers)
    assert response_labels(label(post(TOOL, {})), status, response.headers, response.body).receipt == receipt
    read = label(request("GET", TOOL))
    assert response_labels(read, status, response.headers, response.body).receipt is None
