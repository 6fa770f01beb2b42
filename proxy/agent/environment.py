"""The environment that makes a program, in any language, use our proxy and trust our authority.

Pure: a mapping in, a mapping out. The files that some variables name are written by `proxy.agent.clients`.

- Every variable is overridden, never defaulted: company images set many of them already, and those would win.
- Proxy variables are set in both cases: wget and gRPC read the lower one, others the upper one.
- What the user had set for the way out (HTTPS_PROXY, NO_PROXY) is read by `proxy.agent.upstream` beforehand.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

PROXY_VARIABLES = (
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
)
NO_PROXY_VARIABLES = ("NO_PROXY", "no_proxy")

# The bundle of system roots and ours, for clients whose variable replaces the built-in roots.
BUNDLE_VARIABLES = (
    "SSL_CERT_FILE",  # OpenSSL, Go, httpx, rustls-native-certs, Ruby, .NET
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "AWS_CA_BUNDLE",
    "PIP_CERT",
    "HTTPLIB2_CA_CERTS",
    "npm_config_cafile",
    "GIT_SSL_CAINFO",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "PERL_LWP_SSL_CA_FILE",
    "MOJO_CA_FILE",
    "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
    "NIX_SSL_CERT_FILE",
)
# Our authority alone, for clients whose variable adds to the built-in roots.
AUTHORITY_VARIABLES = ("NODE_EXTRA_CA_CERTS", "DENO_CERT")

SWITCHES = {
    "NODE_USE_ENV_PROXY": "1",  # Node from 22.21 and 24.5 on: fetch and https obey the proxy variables
    "GIT_HTTP_PROXY_AUTHMETHOD": "basic",
    "PERL_LWP_ENV_PROXY": "1",
    "MOJO_PROXY": "1",
}
# A tool's own proxy variable beats the common ones, so where the user has it, it must follow.
TOOL_PROXY_VARIABLES = ("grpc_proxy", "PIP_PROXY", "npm_config_proxy", "npm_config_https_proxy")
TOOL_NO_PROXY_VARIABLES = ("no_grpc_proxy", "npm_config_noproxy")
# Its roots are part of the bundle; left in place it would win over SSL_CERT_FILE in some clients.
REMOVED = ("SSL_CERT_DIR",)

TRUST_STORE_PASSWORD = "changeit"  # Java wants one; every JDK ships with this, and the file is public


@dataclass(frozen=True, slots=True)
class ClientFiles:
    """Files for clients that take no variable: each is None where it was not written."""

    wgetrc: Path | None = None
    php_ini_folder: Path | None = None
    java_trust_store: Path | None = None
    node_preload: Path | None = None
    python_folder: Path | None = None


def agent_environment(
    base: Mapping[str, str],
    proxy_url: str,
    ca_certificate: Path,
    bundle: Path,
    files: ClientFiles | None = None,
    extras: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """`base` changed so that its programs go through `proxy_url` and trust our authority.

    `proxy_url` may carry a run and a token (`http://RUN:TOKEN@127.0.0.1:PORT`); `ca_certificate` is our
    authority alone and `bundle` the system's roots with it, both PEM; `extras` are set last and win.
    """
    files = files or ClientFiles()
    environment = {name: value for name, value in base.items() if name not in REMOVED}
    environment |= dict.fromkeys(PROXY_VARIABLES, proxy_url)
    environment |= dict.fromkeys(NO_PROXY_VARIABLES, "")
    environment |= {name: proxy_url for name in TOOL_PROXY_VARIABLES if name in base}
    environment |= {name: "" for name in TOOL_NO_PROXY_VARIABLES if name in base}
    environment |= dict.fromkeys(BUNDLE_VARIABLES, str(bundle))
    environment |= dict.fromkeys(AUTHORITY_VARIABLES, str(ca_certificate))
    environment |= SWITCHES
    if files.wgetrc:
        environment["WGETRC"] = str(files.wgetrc)
    if files.php_ini_folder:
        # An empty first entry stands for the folder that PHP was built with.
        environment["PHP_INI_SCAN_DIR"] = f"{base.get('PHP_INI_SCAN_DIR', '')}:{files.php_ini_folder}"
    environment["JAVA_TOOL_OPTIONS"] = _java_options(base, proxy_url, files.java_trust_store)
    if files.node_preload:
        environment["NODE_OPTIONS"] = _with_preload(base, "NODE_OPTIONS", "--require", files.node_preload)
        environment["BUN_OPTIONS"] = _with_preload(base, "BUN_OPTIONS", "--preload", files.node_preload)
    if files.python_folder:
        environment["PYTHONPATH"] = _python_path(base, files.python_folder)
    return environment | dict(extras or {})


def _with_preload(base: Mapping[str, str], variable: str, option: str, preload: Path) -> str:
    """The user's options with one module more, loaded before theirs; as one word, which tools that rewrite the options
    keep whole.
    """
    path = str(preload)
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    word = f'{option}="{escaped}"' if escaped != path or " " in path else f"{option}={path}"
    return _with_first(word, base.get(variable, ""), " ")


def _python_path(base: Mapping[str, str], folder: Path) -> str:
    """The user's PYTHONPATH with one folder more in front; no empty entry, which would be the current one."""
    return _with_first(str(folder), base.get("PYTHONPATH", ""), ":")


def _with_first(word: str, words: str, between: str) -> str:
    return words if words == word or words.startswith(word + between) else between.join(filter(None, (word, words)))


def changes(base: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str | None]:
    """What must be set (a value) or unset (None) to turn `base` into `environment`, sorted by name."""
    names = sorted(base.keys() | environment.keys())
    return {name: environment.get(name) for name in names if base.get(name) != environment.get(name)}


def _java_options(base: Mapping[str, str], proxy_url: str, trust_store: Path | None) -> str:
    """Java reads no proxy variable: only system properties, which any JVM takes from JAVA_TOOL_OPTIONS.

    It sends no credentials to a proxy either, so a Java agent is known by its port.
    """
    proxy = urlsplit(proxy_url)
    options = {
        "https.proxyHost": proxy.hostname or "",
        "https.proxyPort": str(proxy.port or 80),
        "http.proxyHost": proxy.hostname or "",
        "http.proxyPort": str(proxy.port or 80),
        "http.nonProxyHosts": "",  # else localhost is never proxied
    }
    if trust_store:
        options["javax.net.ssl.trustStore"] = str(trust_store)
        options["javax.net.ssl.trustStoreType"] = "PKCS12"
        options["javax.net.ssl.trustStorePassword"] = TRUST_STORE_PASSWORD
    ours = [_java_word(f"-D{name}={value}") for name, value in options.items()]
    return " ".join([*filter(None, [base.get("JAVA_TOOL_OPTIONS", "")]), *ours])


def _java_word(option: str) -> str:
    """One option as the JVM splits them: at white space outside quotes."""
    return f'"{option}"' if any(character.isspace() for character in option) else option
