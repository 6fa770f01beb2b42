"""The variables by which clients that ignore proxies are pointed at the ports that stand for their servers. Pure.

- A variable that the client of a known server reads is set, unless the user has pointed it at another server.
- Any other variable that names the server, such as a company's own gateway, is pointed at the port with its path.
- Amazon's are not here: its requests are signed for the server's name, so such a client must know it.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from proxy.border import Misuse
from store.core.base import BadBase, Base, prefix

# By server: the variables that its clients read, and the path that each of them has by default.
KNOWN: Mapping[str, Mapping[str, str]] = {
    "https://api.openai.com": {"OPENAI_BASE_URL": "/v1", "OPENAI_API_BASE": "/v1"},
    "https://api.anthropic.com": {"ANTHROPIC_BASE_URL": "", "ANTHROPIC_API_BASE": ""},
    "https://generativelanguage.googleapis.com": {"GOOGLE_GEMINI_BASE_URL": "", "GEMINI_API_BASE": ""},
    "https://aiplatform.googleapis.com": {"GOOGLE_VERTEX_BASE_URL": ""},
    "https://api.groq.com": {"GROQ_BASE_URL": ""},
    "https://api.cohere.com": {"CO_API_URL": ""},
    "https://api.mistral.ai": {"MISTRAL_API_BASE": "/v1"},
    "https://openrouter.ai": {"OPENROUTER_API_BASE": "/api/v1"},
    "https://huggingface.co": {"HF_ENDPOINT": ""},
    "http://localhost:11434": {"OLLAMA_HOST": "", "OLLAMA_API_BASE": ""},
    "http://127.0.0.1:11434": {"OLLAMA_HOST": "", "OLLAMA_API_BASE": ""},
}
_NAMES = re.compile(r"\w+(_URL|_URI|_BASE|_HOST|_ENDPOINT)\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Say:
    """What the path of such a client says for us: its run and token, both may be empty."""

    run: str = ""
    token: str = ""


def base_variables(base: Mapping[str, str], bases: Iterable[Base], say: Say | None = None) -> dict[str, str]:
    """What is to be set on top of the environment `base`; each of `bases` has its port."""
    say = say or Say()
    found: dict[str, str] = {}
    for one in bases:
        told = "" if one.run or not say.run else prefix(say.run, say.token)
        ours = f"http://127.0.0.1:{one.listens}{told}"
        known = {name: ours + path for name, path in KNOWN.get(one.origin, {}).items() if not base.get(name)}
        named = {name: ours + _path(value) for name, value in base.items() if _is_of(name, value, one)}
        found |= known | named
    return found


def bases_in(texts: Iterable[str]) -> tuple[Base, ...]:
    """What --reverse says, each port once. Raises Misuse."""
    try:
        bases = tuple(Base.parse(text) for text in texts)
    except BadBase as error:
        raise Misuse(str(error), hint=error.hint) from error
    ports = [base.listens for base in bases if base.listens]
    twice = next((port for port in ports if ports.count(port) > 1), None)
    if twice is not None:
        raise Misuse(f"port {twice} cannot stand for two servers", hint="--reverse URL@PORT, each with its own port")
    return bases


def _is_of(name: str, value: str, base: Base) -> bool:
    """Whether a variable holds a URL of that server."""
    if _NAMES.match(name) is None:
        return False
    try:
        return Base.parse(value.removesuffix(_path(value))).origin == base.origin
    except BadBase:
        return False


def _path(url: str) -> str:
    """Path and query of a URL."""
    return "".join(url.partition("://")[2].partition("/")[1:])
