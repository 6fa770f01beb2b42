"""A confined agent reaches nothing, is refused at once, and everything that it tried is named."""

import os
import re
import socket
from pathlib import Path

import pytest

from tests.proxy.agent.wrapper import python
from tests.proxy.confined.inside import confined
from tests.proxy.confined.outside import connect, needs_namespaces, outside_listener, own_address


@needs_namespaces
@pytest.mark.parametrize(
    "host, named",
    [
        ("203.0.113.7", "TCP to 203.0.113.7:443"),
        ("10.1.2.3", "TCP to 10.1.2.3:443"),
        ("169.254.169.254", "TCP to 169.254.169.254:443"),
        ("2001:db8::7", "TCP to [2001:db8::7]:443"),
        ("::ffff:203.0.113.7", "TCP to 203.0.113.7:443"),
    ],
)
def test_a_connection_to_an_address_outside_is_refused_and_named(host: str, named: str) -> None:
    outcome = confined(connect(host, 443))
    assert outcome.out == "ConnectionRefusedError\n"
    assert outcome.attempts == {named: 1}


@needs_namespaces
def test_the_machines_own_other_address_counts_as_outside() -> None:
    address = own_address()
    with socket.create_server((address, 0)) as listener:
        port = listener.getsockname()[1]
        outcome = confined(connect(address, port))
        listener.settimeout(0.2)
        with pytest.raises(TimeoutError):
            listener.accept()
    assert outcome.out == "ConnectionRefusedError\n"
    assert outcome.attempts == {f"TCP to {address}:{port}": 1}


@needs_namespaces
def test_a_loopback_server_outside_sees_nothing_and_its_port_is_told() -> None:
    with outside_listener() as (port, seen):
        outcome = confined(connect("127.0.0.1", port))
    assert outcome.out == "ConnectionRefusedError\n"
    assert outcome.attempts == {}
    assert outcome.refused_local == {str(port): 1}
    assert seen == []


@needs_namespaces
def test_a_name_that_is_looked_up_is_named() -> None:
    program = (
        "import socket\ntry: socket.getaddrinfo('api.example.com', 443)\n"
        "except OSError as error: print(type(error).__name__)"
    )
    outcome = confined(python(program))
    assert outcome.out == "gaierror\n"
    assert any(attempt.startswith("DNS for api.example.com") for attempt in outcome.attempts)


@needs_namespaces
@pytest.mark.parametrize("server", ["127.0.0.53", "203.0.113.53"])
def test_a_question_to_a_name_server_is_named_wherever_the_server_is(server: str) -> None:
    question = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x07private\x07example\0\0\x01\0\x01"
    program = f"import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto({question!r}, ({server!r}, 53))"
    assert confined(python(program)).attempts == {f"DNS for private.example (asked {server}:53)": 1}


@needs_namespaces
@pytest.mark.parametrize(
    "family, host, named",
    [("AF_INET", "203.0.113.7", "203.0.113.7:8125"), ("AF_INET6", "2001:db8::7", "[2001:db8::7]:8125")],
)
def test_a_datagram_is_named_with_how_often_it_was_sent(family: str, host: str, named: str) -> None:
    program = (
        f"import socket\nout = socket.socket(socket.{family}, socket.SOCK_DGRAM)\n"
        f"sent = 0\nwhile sent < 3:\n"
        f"    try: sent += bool(out.sendto(b'x', ('{host}', 8125)))\n"
        "    except ConnectionRefusedError: pass\n"
    )
    outcome = confined(python(program))
    assert outcome.attempts == {f"UDP to {named}": 3}, outcome.err


@needs_namespaces
def test_an_agent_that_asks_for_its_own_address_has_attempted_nothing() -> None:
    program = (
        "import socket\nudp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "udp.connect(('8.8.8.8', 80)); print(udp.getsockname()[0])"
    )
    outcome = confined(python(program))
    assert outcome.out == "127.0.0.1\n"
    assert outcome.attempts == {}


@needs_namespaces
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_a_server_of_the_agents_own_is_reached_and_is_no_attempt(address: str) -> None:
    program = (
        "import socket\n"
        f"family = socket.AF_INET6 if ':' in {address!r} else socket.AF_INET\n"
        f"server = socket.create_server(({address!r}, 0), family=family)\n"
        "client = socket.create_connection(server.getsockname()[:2])\n"
        "far, _ = server.accept(); client.sendall(b'hello'); print(far.recv(5).decode())"
    )
    outcome = confined(python(program))
    assert outcome.out == "hello\n", outcome.err
    assert outcome.attempts == {}
    assert outcome.refused_local == {}


@needs_namespaces
def test_the_agent_has_no_capability_and_can_gain_none() -> None:
    status = confined(["cat", "/proc/self/status"]).out
    held = dict(re.findall(r"^(Cap\w+|NoNewPrivs):\s*(\w+)$", status, re.MULTILINE))
    assert held.pop("NoNewPrivs") == "1"
    assert set(held.values()) == {"0" * 16}


@needs_namespaces
@pytest.mark.parametrize(
    "program",
    [
        "import os; os.setns(os.open('/proc/OUTER/ns/net', os.O_RDONLY), os.CLONE_NEWNET)",
        "import os; os.setns(os.open(f'/proc/{os.getppid()}/ns/net', os.O_RDONLY), os.CLONE_NEWUSER)",
        "import os; os.open(f'/proc/{os.getppid()}/mem', os.O_RDWR)",
        "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
        "import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 255)",
    ],
)
def test_the_agent_gets_no_way_into_the_outer_network_or_our_own_process(program: str) -> None:
    outcome = confined(python(program.replace("OUTER", str(os.getpid()))))
    assert outcome.code == 1
    assert "PermissionError" in outcome.err or "Invalid argument" in outcome.err


@needs_namespaces
def test_no_descriptor_of_ours_reaches_the_agent() -> None:
    program = "import os; print(sorted(os.listdir('/proc/self/fd')))"
    with outside_listener() as (port, _):
        assert confined(python(program), [port]).out == confined(python(program)).out == "['0', '1', '2', '3']\n"


@needs_namespaces
def test_sockets_of_services_that_act_outside_are_covered(tmp_path: Path) -> None:
    runtime = tmp_path / "runtime"
    (runtime / "podman").mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as bus, socket.socket(socket.AF_UNIX) as other:
        bus.bind(str(runtime / "bus"))
        bus.listen()
        other.bind(str(runtime / "other"))
        other.listen()
        program = (
            "import socket, sys\nfor path in sys.argv[1:]:\n"
            "    try: socket.socket(socket.AF_UNIX).connect(path); print('connected')\n"
            "    except OSError as error: print(type(error).__name__)\n"
        )
        paths = [str(runtime / name) for name in ("bus", "other")]
        outcome = confined([*python(program), *paths], environment={**os.environ, "XDG_RUNTIME_DIR": str(runtime)})
    assert outcome.out == "ConnectionRefusedError\nconnected\n"
