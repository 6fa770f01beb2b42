"""Takes secrets out of a command line by the places where command lines carry them. Pure.

- values of the environment's own credentials, wherever they stand
- `--api-key VALUE`, `--api-key=VALUE`, `API_KEY=VALUE`
- `-u USER:VALUE`, as curl takes it
- a header, as curl takes it: `Authorization: Bearer VALUE`
- a key in a URL's query
"""

import re
from collections.abc import Sequence

from store.core.redact import Redactor, is_credential_name

NUMBER_DIGITS_MAX = 7

_ASSIGNMENT = re.compile(r"(-{0,2}[A-Za-z][\w.-]*)=(.+)", re.DOTALL)
_HEADER = re.compile(r"([A-Za-z][\w-]*)(:\s*)(.+)", re.DOTALL)
_FLAG = re.compile(r"--?[A-Za-z][\w-]*")
_USERS = ("-u", "--user", "--proxy-user", "-U")
_URL = re.compile(r"(?<![a-z0-9+.-])[a-z][a-z0-9+.-]*://[^?#\s]{0,4096}\?([^#\s]*)", re.IGNORECASE)


def redacted(argv: Sequence[str], redactor: Redactor) -> list[bytes]:
    """The arguments as bytes, each secret replaced by a placeholder."""
    out: list[bytes] = []
    secret_follows = before = ""
    for argument in argv:
        user, colon, password = argument.partition(":")
        if before in _USERS and password and not password.startswith("//"):
            out.append(_raw(user + colon) + _hidden("password", password, redactor))
        elif secret_follows and not argument.startswith("-") and not _is_number(argument):
            out.append(_hidden(secret_follows, argument, redactor))
        else:
            out.append(_one(argument, redactor))
        before, name = argument, argument.lstrip("-")
        secret_follows = name if _FLAG.fullmatch(argument) and is_credential_name(name) else ""
    return out


def _one(argument: str, redactor: Redactor) -> bytes:
    assigned = _ASSIGNMENT.fullmatch(argument)
    if assigned and is_credential_name(assigned[1].lstrip("-")) and not _is_number(assigned[2]):
        return _raw(assigned[1]) + b"=" + _hidden(assigned[1].lstrip("-"), assigned[2], redactor)
    header = _HEADER.fullmatch(argument)
    if header and not header[3].startswith("//") and is_credential_name(header[1]):
        return _raw(header[1] + header[2]) + _hidden(header[1], header[3], redactor)
    shortened = _URL.sub(lambda url: _with_query(url, redactor), argument)
    return redactor.plain(shortened).content


def _with_query(url: re.Match[str], redactor: Redactor) -> str:
    whole, query = url[0], url[1]
    safe = redactor.query(_raw(query)).content.decode("utf-8", "surrogateescape")
    return whole[: len(whole) - len(query)] + safe


def _is_number(value: str) -> bool:
    """`--max-tokens 512` names a count, whatever its name sounds like."""
    return value.isdecimal() and len(value) <= NUMBER_DIGITS_MAX


def _hidden(name: str, value: str, redactor: Redactor) -> bytes:
    return redactor.header(_raw(name), _raw(value)).content


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
