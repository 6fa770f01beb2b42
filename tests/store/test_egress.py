"""The proxy of the way out is read from its URL, and never quoted with its password."""

import pytest

from store.egress import Proxy, UnusableProxy


def test_a_proxy_url_is_read_with_its_port_and_credentials() -> None:
    assert Proxy.parse("http://proxy:3128") == Proxy("http", "proxy", 3128, b"")
    assert Proxy.parse("https://proxy") == Proxy("https", "proxy", 443, b"")
    assert Proxy.parse("http://us%40er:p%3Aw@[::1]:80").authorization == b"Basic dXNAZXI6cDp3"


@pytest.mark.parametrize("url", ["socks5://user:s3cret@proxy:1080", "proxy:3128", "http://", "http://proxy:port"])
def test_a_proxy_that_we_cannot_use_is_named_without_its_password(url: str) -> None:
    with pytest.raises(UnusableProxy) as caught:
        Proxy.parse(url)
    assert "s3cret" not in str(caught.value)
