"""The way through the proxy: what its URL says to every client."""

from urllib.parse import unquote, urlsplit

import pytest

from proxy.agent.passage import Way


@pytest.mark.parametrize("run", ["plain", "we:ird@na/me é ☃", "a?b#c%41", "../x y"])
def test_whatever_the_run_and_token_are_called_the_url_leads_to_the_proxy(run: str) -> None:
    url = urlsplit(Way(8484, run, "p@:s/s").url)
    assert (url.hostname, url.port) == ("127.0.0.1", 8484)
    assert unquote(url.username or "") == run
    assert unquote(url.password or "") == "p@:s/s"
    assert str(url.geturl()).isascii()


def test_a_plain_name_and_token_stand_in_the_url_as_they_are() -> None:
    assert Way(8484, "agent-1.a_b").url == "http://agent-1.a_b:x@127.0.0.1:8484"
    assert Way(8484, "a", host="::1").url == "http://a:x@[::1]:8484"
