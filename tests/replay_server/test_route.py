"""A model that is named in the path: another one is a drift of the model, not another place."""

import pytest

from replay_server.route import split
from store.core.form import Endpoint
from tests.replay_server.recording import Place, Recording, encode
from tests.replay_server.walking import ask

PATHS = [
    ("/v1beta/models/{}:generateContent", "gemini-2.5-flash", "gemini-2.5-pro"),
    ("/v1/projects/p/locations/l/publishers/anthropic/models/{}:rawPredict", "claude-sonnet-4-5@20250929", "c@2"),
    ("/model/{}/converse-stream", "anthropic.claude-3-haiku-20240307-v1%3A0", "amazon.nova-lite-v1%3A0"),
    ("/openai/deployments/{}/chat/completions", "gpt-4o", "gpt-4o-mini"),
]


def test_a_path_without_a_model_stays_as_it_is() -> None:
    for method, path in (("POST", b"/v1/models"), ("GET", b"/v1beta/models/x:generateContent"), ("POST", b"/a/b")):
        place = Endpoint(method, "https", "h", 443, path)
        assert split(place) == (place, "")


@pytest.mark.parametrize("path, model, other", PATHS)
async def test_another_model_in_the_path_is_a_drift_of_the_model(
    place: Place, path: str, model: str, other: str
) -> None:
    url, changed = (f"https://llm.example.com{path.format(name)}" for name in (model, other))
    said = encode({"contents": [{"role": "user", "parts": [{"text": "q"}]}], "messages": []})

    def tell(recording: Recording) -> None:
        recording.post(url, {"contents": [{"role": "user", "parts": [{"text": "q"}]}], "messages": []}, b"{}")

    run = place.record(tell)
    async with place.replaying(run) as server:
        assert ask(server.session, "POST", url, said)[0] == 200
        assert (await server.stop(0)).exit_code == 0
    async with place.replaying(run) as server:
        assert ask(server.session, "POST", changed, said)[0] == 422
        report = await server.stop(0)
    assert report.exit_code == 40
    drifted = report.document["drifted"]
    assert isinstance(drifted, list)
    assert isinstance(drifted[0], dict)
    assert (drifted[0]["kind"], drifted[0]["rule"], drifted[0]["request"]) == ("model", "path model", f"POST {changed}")
