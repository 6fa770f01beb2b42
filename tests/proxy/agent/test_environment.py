"""The agent's environment sends everything to our proxy, whatever the user's image had set."""

from pathlib import Path

import pytest

from proxy.agent.environment import ClientFiles, agent_environment, changes
from proxy.agent.upstream import UpstreamProxy, upstream_proxy

PROXY = "http://run-7:token@127.0.0.1:8080"
CA, BUNDLE = Path("/state/ca.pem"), Path("/state/bundle.pem")
FILES = ClientFiles(Path("/state/wgetrc"), Path("/state/php"), Path("/state/trust.p12"))


def environment(**base: str) -> dict[str, str]:
    return agent_environment(base, PROXY, CA, BUNDLE, FILES)


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"])
def test_a_proxy_variable_is_set_in_both_cases_over_what_was_there(name: str) -> None:
    made = environment(**{name: "http://corporate:3128", name.lower(): "http://other:3128"})
    assert made[name] == made[name.lower()] == PROXY


def test_nothing_is_exempt_from_the_proxy() -> None:
    made = environment(NO_PROXY="*", no_proxy="localhost", no_grpc_proxy="*", npm_config_noproxy="*")
    assert {made[name] for name in ("NO_PROXY", "no_proxy", "no_grpc_proxy", "npm_config_noproxy")} == {""}


def test_a_tools_own_proxy_follows_where_it_is_set_and_only_there() -> None:
    assert environment(PIP_PROXY="http://corporate:3128")["PIP_PROXY"] == PROXY
    assert "PIP_PROXY" not in environment()


@pytest.mark.parametrize(
    "name",
    [
        "SSL_CERT_FILE",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        "AWS_CA_BUNDLE",
        "GIT_SSL_CAINFO",
        "PIP_CERT",
        "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    ],
)
def test_a_bundle_variable_of_the_image_is_overridden(name: str) -> None:
    assert environment(**{name: "/etc/corporate.pem"})[name] == str(BUNDLE)


def test_c105_variables_that_add_to_the_roots_name_our_authority_alone() -> None:
    made = environment(NODE_EXTRA_CA_CERTS="/etc/corporate.pem")
    assert made["NODE_EXTRA_CA_CERTS"] == made["DENO_CERT"] == str(CA)


def test_a_folder_of_roots_that_would_win_over_the_bundle_is_removed() -> None:
    assert "SSL_CERT_DIR" not in environment(SSL_CERT_DIR="/etc/ssl/certs")


def test_c097_node_is_told_to_look_at_its_environment() -> None:
    assert environment()["NODE_USE_ENV_PROXY"] == "1"


def test_everything_else_of_the_user_stays() -> None:
    made = environment(PATH="/bin", OPENAI_API_KEY="sk-x", LANG="C")
    assert (made["PATH"], made["OPENAI_API_KEY"], made["LANG"]) == ("/bin", "sk-x", "C")


def test_java_options_are_added_to_the_users_own_and_survive_blanks_in_a_path() -> None:
    files = ClientFiles(java_trust_store=Path("/my state/trust.p12"))
    made = agent_environment({"JAVA_TOOL_OPTIONS": "-Xmx1g"}, PROXY, CA, BUNDLE, files)["JAVA_TOOL_OPTIONS"]
    assert made.startswith("-Xmx1g -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=8080 ")
    assert ' "-Djavax.net.ssl.trustStore=/my state/trust.p12" ' in made
    assert " -Dhttp.nonProxyHosts= " in made


def test_php_reads_its_own_settings_first() -> None:
    assert environment()["PHP_INI_SCAN_DIR"] == ":/state/php"
    assert environment(PHP_INI_SCAN_DIR="/mine")["PHP_INI_SCAN_DIR"] == "/mine:/state/php"


def test_files_that_were_not_written_are_not_named() -> None:
    made = agent_environment({}, PROXY, CA, BUNDLE)
    assert not {"WGETRC", "PHP_INI_SCAN_DIR"} & made.keys()
    assert "trustStore" not in made["JAVA_TOOL_OPTIONS"]


def test_extras_win() -> None:
    made = agent_environment({}, PROXY, CA, BUNDLE, extras={"NO_PROXY": "db.internal", "EDGETAPE_RUN_ID": "r"})
    assert (made["NO_PROXY"], made["EDGETAPE_RUN_ID"]) == ("db.internal", "r")


def test_changes_say_what_to_set_and_what_to_unset() -> None:
    base = {"KEPT": "1", "CHANGED": "1", "GONE": "1"}
    assert changes(base, {"KEPT": "1", "CHANGED": "2", "NEW": "3"}) == {"CHANGED": "2", "GONE": None, "NEW": "3"}


def test_the_users_own_proxy_is_read_before_it_is_replaced() -> None:
    base = {"HTTPS_PROXY": "proxy.corp:3128", "http_proxy": "http://u:p@plain:80", "HTTP_PROXY": "http://no:1"}
    assert upstream_proxy(base | {"NO_PROXY": "a.example, .b.example"}) == UpstreamProxy(
        http="http://u:p@plain:80", https="http://proxy.corp:3128", no_proxy=("a.example", ".b.example")
    )
    assert upstream_proxy({"ALL_PROXY": "socks5://s:1"}).https == "socks5://s:1"
    assert upstream_proxy({"HTTPS_PROXY": ""}) == UpstreamProxy()


@pytest.mark.parametrize(
    "no_proxy, host, port, direct",
    [
        ("", "api.example", 443, False),
        ("*", "api.example", 443, True),
        ("example", "api.example", 443, True),
        (".example", "api.example", 443, True),
        ("*.example", "api.example", 443, True),
        ("example", "notexample", 443, False),
        ("API.example", "api.EXAMPLE", 443, True),
        ("api.example:8443", "api.example", 443, False),
        ("api.example:8443", "api.example", 8443, True),
        ("10.0.0.0/8", "10.9.8.7", 80, True),
        ("10.0.0.0/8", "11.9.8.7", 80, False),
        ("10.9.8.7", "10.9.8.7", 80, True),
        ("10.9.8.7:81", "10.9.8.7", 80, False),
        ("10.9.8.7:80", "10.9.8.7", 80, True),
        ("::1", "::1", 80, True),
        ("[::1]:80", "[::1]", 80, True),
        ("[::1]:81", "::1", 80, False),
        ("fd00::/8", "fd12::1", 80, True),
        ("localhost,127.0.0.1", "127.0.0.1", 80, True),
        ("8.7", "10.9.8.7", 80, False),
    ],
)
def test_no_proxy_is_honoured_as_clients_do(no_proxy: str, host: str, port: int, direct: bool) -> None:
    upstream = upstream_proxy({"HTTPS_PROXY": "http://proxy:1", "NO_PROXY": no_proxy})
    assert (upstream.route("https", host, port) is None) is direct


def test_what_is_loaded_into_node_and_python_stands_before_the_users_own() -> None:
    files = ClientFiles(node_preload=Path("/state/proxy.cjs"), python_folder=Path("/state/python"))
    user = {"NODE_OPTIONS": "--max-old-space-size=99", "PYTHONPATH": "/user"}
    made = agent_environment(user, PROXY, CA, BUNDLE, files)
    assert made["NODE_OPTIONS"] == "--require=/state/proxy.cjs --max-old-space-size=99"
    assert made["PYTHONPATH"] == "/state/python:/user"
    again = agent_environment(made, PROXY, CA, BUNDLE, files)
    assert (again["NODE_OPTIONS"], again["PYTHONPATH"]) == (made["NODE_OPTIONS"], made["PYTHONPATH"])


def test_what_is_loaded_into_node_and_python_needs_nothing_of_the_user() -> None:
    files = ClientFiles(node_preload=Path('/my "state"/proxy.cjs'), python_folder=Path("/state/python"))
    made = agent_environment({"PYTHONPATH": ""}, PROXY, CA, BUNDLE, files)
    assert made["NODE_OPTIONS"] == '--require="/my \\"state\\"/proxy.cjs"'
    assert made["PYTHONPATH"] == "/state/python"
