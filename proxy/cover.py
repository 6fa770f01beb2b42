"""Takes a store's password off the command line, which every account may read as long as the process lives."""

from collections.abc import MutableMapping, Sequence

from store.core import address
from store.core.errors import EdgetapeError

_WRAPPERS = frozenset(("record", "mcp"))  # the verbs whose first word that is no option begins somebody else's command


def unseen(words: list[str], environment: MutableMapping[str, str]) -> list[str]:
    """The words without a store's URL that has a password. It goes into the environment, out of which it is taken
    before an agent starts. Another program's words stay as they are.
    """
    ours = words[: _end(words)]
    places = [at for at, word in enumerate(ours) if word == "--store" or word.startswith("--store=")]
    if len(places) != 1:
        return words
    (at,) = places
    width = 2 if words[at] == "--store" else 1
    url = words[at].partition("=")[2] if width == 1 else "".join(ours[at + 1 : at + 2])
    try:
        is_secret = address.is_url(url) and bool(address.parse(url).password)
    except EdgetapeError:  # it is told when the settings are read
        return words
    if not is_secret:
        return words
    environment["EDGETAPE_STORE"] = url
    return [*words[:at], *words[at + width :]]


def _end(words: Sequence[str]) -> int:
    """How many of the words are ours."""
    end = words.index("--") if "--" in words else len(words)
    verb = next((at for at, word in enumerate(words[:end]) if word in _WRAPPERS), None)
    if verb is None:
        return end
    from proxy.settings import SHARED, TABLE

    is_flag = {flag: row.flag for row in (*TABLE.values(), *SHARED) for flag in row.flags}
    at = verb + 1
    while at < end and (name := words[at].partition("=")[0]) in is_flag:
        at += 1 if is_flag[name] or "=" in words[at] else 2
    return min(at, end)
