"""Whether somebody still listens at the other end is read off the kernel's own table."""

import socket
import sys

import pytest

from store.halves import still_listens

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there the kernel tells")


@pytest.mark.parametrize("family, host", [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_one_that_shut_its_side_listens_and_one_that_left_does_not(family: socket.AddressFamily, host: str) -> None:
    with socket.socket(family) as listener:
        listener.bind((host, 0))
        listener.listen()
        agent = socket.socket(family)
        agent.connect(listener.getsockname())
        ours, peer = listener.accept()
        with ours:
            here = ours.getsockname()
            assert not still_listens(peer, here)
            agent.shutdown(socket.SHUT_WR)
            assert still_listens(peer, here)
            agent.close()
            assert not still_listens(peer, here)


def test_of_an_agent_elsewhere_nothing_is_known() -> None:
    assert not still_listens(("192.0.2.1", 5000), ("192.0.2.2", 8484))
    assert not still_listens(None, ("192.0.2.2", 8484))
