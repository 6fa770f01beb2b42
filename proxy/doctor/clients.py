"""The HTTP clients that are tried, each as a small program in its own language. Pure.

A program gets the address as its last word and asks for it once. It ends with ABSENT where its library is not there.
What it gets is no matter: whether it was recorded is seen by the recorder.
"""

from collections.abc import Mapping
from dataclasses import dataclass

ABSENT = 117  # a code that no client has of its own

_PYTHON = """
import sys
url = sys.argv[1]
host = url.split("/")[2]
try:
    import {module}
except ImportError:
    sys.exit({absent})
{code}
"""
_NODE = """
const url = process.argv[2];
const {{ createRequire }} = require('module');
const path = require('path');
const near = [process.cwd(), path.join(path.dirname(process.execPath), '..', 'lib')];
const load = (name) => {{
  for (const folder of near) {{
    try {{ return createRequire(path.join(folder, 'x.js'))(name); }} catch (error) {{
      if (error.code !== 'MODULE_NOT_FOUND') throw error;
    }}
  }}
  process.exit({absent});
}};
const end = (error) => {{ if (error) console.error(String(error.cause || error)); process.exit(error ? 1 : 0); }};
{code}
"""
_GO = """package main
import ("fmt"; "net/http"; "os")
func main() {
	answer, err := http.Get(os.Args[1])
	if err != nil { fmt.Fprintln(os.Stderr, err); os.Exit(1) }
	answer.Body.Close()
}
"""
_JAVA = """
import java.net.*;
import java.net.http.*;
class Probe { public static void main(String[] words) throws Exception {
  if (words[0].equals("connection")) { new URL(words[1]).openStream().readAllBytes(); return; }
  HttpRequest request = HttpRequest.newBuilder(URI.create(words[1])).build();
  HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
} }
"""
_RUBY = "require 'net/http'; Net::HTTP.get(URI(ARGV[0]))"
_PHP_CURL = """<?php
if (!function_exists('curl_init')) exit(117);
$call = curl_init($argv[1]);
curl_setopt($call, CURLOPT_RETURNTRANSFER, true);
if (curl_exec($call) === false) { fwrite(STDERR, curl_error($call)); exit(1); }
"""
_PHP_STREAM = "<?php if (file_get_contents($argv[1]) === false) exit(1);"
_PHP_TOLD = """<?php
$proxy = parse_url(getenv('HTTPS_PROXY'));
$context = stream_context_create(['http' => ['proxy' => "tcp://{$proxy['host']}:{$proxy['port']}"]]);
if (file_get_contents($argv[1], false, $context) === false) exit(1);
"""
_PERL_TINY = """
use strict; use HTTP::Tiny;
exit 117 unless eval { require IO::Socket::SSL; require Net::SSLeay; 1 };
my $answer = HTTP::Tiny->new(verify_SSL => 1)->get($ARGV[0]);
print STDERR $answer->{content} unless $answer->{success};
"""
_PERL_LWP = """
use strict; exit 117 unless eval { require LWP::UserAgent; require LWP::Protocol::https; 1 };
my $answer = LWP::UserAgent->new->get($ARGV[0]);
print STDERR $answer->status_line unless $answer->is_success;
"""
_PHP_OPTION = "use curl, or give it a context: ['http' => ['proxy' => 'tcp://HOST:PORT']], those of HTTPS_PROXY"
_BUN_OPTION = "give it an option: new WebSocket(url, { proxy: process.env.HTTPS_PROXY })"
_OWN_OPTION = "set the client's own proxy option, or its base URL"


@dataclass(frozen=True, slots=True)
class Client:
    """One client: the `program` that runs it (the name of a command), the words behind it, and the file that it needs.

    `{url}` and `{file}` in `words` stand for the address and for the written file. `obeys` says by what it goes through
    the proxy and trusts the authority (empty: nothing reaches it), `advice` what to do where it does not.
    """

    name: str
    program: str
    words: tuple[str, ...]
    obeys: str
    file: str = ""
    source: str = ""
    advice: str = _OWN_OPTION

    @property
    def runtime(self) -> str:
        """The language, or the tool itself."""
        return self.name.partition(" ")[0]


def _python(module: str, obeys: str, code: str, name: str = "") -> Client:
    source = _PYTHON.format(module=module, absent=ABSENT, code=code.strip())
    return Client(f"Python {name or module}", "python3", ("{file}", "{url}"), obeys, "probe.py", source)


def _node(name: str, obeys: str, code: str, *, program: str = "node", advice: str = _OWN_OPTION) -> Client:
    source = _NODE.format(absent=ABSENT, code=code.strip())
    language = {"node": "Node", "bun": "Bun"}[program]
    return Client(f"{language} {name}", program, ("{file}", "{url}"), obeys, "probe.cjs", source, advice)


_VARIABLES = "HTTPS_PROXY"
_PYTHONPATH = "what PYTHONPATH loads"
_NODE_OPTIONS = "what NODE_OPTIONS loads"
_BUN_OPTIONS = "what BUN_OPTIONS loads"
_SOCKET = (
    "const address = url.replace('https', 'wss');\nconst socket = {made};\n"
    "socket.onerror = end;\nsocket.onopen = () => end();\nsocket.onclose = () => end();"
)
_FETCH = "fetch(url).then(() => end(), end);"
_HTTPS = "require('https').get(url, (answer) => { answer.resume(); end(); }).on('error', end);"

CLIENTS: tuple[Client, ...] = (
    _python("requests", f"{_VARIABLES}, REQUESTS_CA_BUNDLE", "requests.get(url)"),
    _python("httpx", f"{_VARIABLES}, SSL_CERT_FILE", "httpx.get(url)"),
    _python("httpx2", f"{_VARIABLES}, SSL_CERT_FILE", "httpx2.get(url)"),
    _python("urllib.request", f"{_VARIABLES}, SSL_CERT_FILE", "urllib.request.urlopen(url)"),
    _python(
        "http.client",
        f"{_PYTHONPATH}, SSL_CERT_FILE",
        "connection = http.client.HTTPSConnection(host)\nconnection.request('GET', '/')\nconnection.getresponse()",
    ),
    _python("urllib3", f"{_PYTHONPATH}, SSL_CERT_FILE", "urllib3.PoolManager(retries=False).request('GET', url)"),
    _python(
        "aiohttp",
        f"{_PYTHONPATH}, SSL_CERT_FILE",
        "import asyncio\nasync def ask():\n    async with aiohttp.ClientSession() as session:\n"
        "        async with session.get(url):\n            pass\nasyncio.run(ask())",
    ),
    _python(
        "boto3",
        f"{_VARIABLES}, AWS_CA_BUNDLE",
        "boto3.client('sts', region_name='us-east-1', endpoint_url=url, aws_access_key_id='x',"
        " aws_secret_access_key='x').get_caller_identity()",
    ),
    _python(
        "grpc",
        "https_proxy, GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
        "channel = grpc.secure_channel(host + ':443', grpc.ssl_channel_credentials())\n"
        "channel.unary_unary('/probe.Probe/Ask')(b'', timeout=20)",
    ),
    _python(
        "websockets.sync.client",
        f"{_VARIABLES}, SSL_CERT_FILE",
        "websockets.sync.client.connect(url.replace('https', 'wss', 1)).close()",
        "websockets",
    ),
    _node("fetch", _NODE_OPTIONS, _FETCH),
    _node("https", _NODE_OPTIONS, _HTTPS),
    _node("undici", _NODE_OPTIONS, "load('undici').request(url).then(() => end(), end);"),
    _node("axios", f"{_VARIABLES}", "load('axios').get(url).then(() => end(), end);"),
    _node(
        "ws",
        _NODE_OPTIONS,
        "const Socket = load('ws');\n"
        "const socket = new Socket(url.replace('https', 'wss'));\nsocket.on('error', end).on('open', () => end());",
    ),
    _node("fetch", f"{_VARIABLES}, NODE_EXTRA_CA_CERTS", _FETCH, program="bun"),
    _node("https", _BUN_OPTIONS, _HTTPS, program="bun"),
    _node("WebSocket", _BUN_OPTIONS, _SOCKET.format(made="new WebSocket(address)"), program="bun"),
    _node("ws", "", _SOCKET.format(made="new (require('ws'))(address)"), program="bun", advice=_BUN_OPTION),
    _node(
        "ws, told",
        "its option `proxy`",
        _SOCKET.format(made="new (require('ws'))(address, { proxy: process.env.HTTPS_PROXY })"),
        program="bun",
    ),
    Client("Go net/http", "go", ("run", "{file}", "{url}"), f"{_VARIABLES}, SSL_CERT_FILE", "probe.go", _GO),
    Client("Java HttpClient", "java", ("{file}", "client", "{url}"), "JAVA_TOOL_OPTIONS", "Probe.java", _JAVA),
    Client(
        "Java HttpsURLConnection", "java", ("{file}", "connection", "{url}"), "JAVA_TOOL_OPTIONS", "Probe.java", _JAVA
    ),
    Client("Ruby net/http", "ruby", ("-e", _RUBY, "{url}"), "http_proxy, SSL_CERT_FILE"),
    Client("PHP curl", "php", ("{file}", "{url}"), f"{_VARIABLES}, PHP_INI_SCAN_DIR", "probe.php", _PHP_CURL),
    Client("PHP streams", "php", ("{file}", "{url}"), "", "probe.php", _PHP_STREAM, _PHP_OPTION),
    Client("PHP streams, told", "php", ("{file}", "{url}"), "its context option `proxy`", "probe.php", _PHP_TOLD),
    Client("Perl HTTP::Tiny", "perl", ("-e", _PERL_TINY, "{url}"), f"{_VARIABLES}, SSL_CERT_FILE"),
    Client("Perl LWP", "perl", ("-e", _PERL_LWP, "{url}"), "PERL_LWP_ENV_PROXY, PERL_LWP_SSL_CA_FILE"),
    Client("curl", "curl", ("-sS", "-o", "/dev/null", "{url}"), f"{_VARIABLES}, CURL_CA_BUNDLE"),
    Client("wget", "wget", ("-nv", "-O", "/dev/null", "{url}"), "https_proxy, WGETRC"),
    Client("git", "git", ("ls-remote", "{url}"), f"{_VARIABLES}, GIT_SSL_CAINFO"),
)

_KINDS: Mapping[str, str] = {"python": "python3", "node": "node", "bun": "bun", "ruby": "ruby", "php": "php"}


def clients_of(program: str) -> list[Client]:
    """The clients that a program can run, told by the letters that its file name begins with (`python3.12`)."""
    letters = "".join(c for c in program.rpartition("/")[2].partition(".")[0].partition("-")[0] if c.isalpha())
    return [client for client in CLIENTS if client.program in (letters, _KINDS.get(letters))]
