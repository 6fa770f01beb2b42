"""Which run a word means that a person typed: `last`, a name, an id, the beginning of one."""

from store import standing
from store.core.errors import UnknownRun
from store.database.connection import Connection

_LAST = "last"
_FILES = (".tape", ".zip", ".tar")


def identify(connection: Connection, word: str) -> str:
    """The id of the run that is meant. Raises UnknownRun, saying what comes near, or that it was pruned."""
    word = word.encode("utf-8", "backslashreplace").decode()  # an argument that is not UTF-8 (PEP 383) names no run
    if word == _LAST or word.startswith(f"{_LAST}:"):
        mode = word.removeprefix(_LAST).removeprefix(":") or "record"
        newest = _newest(connection, "mode", mode)
        missing = f"there is no run of mode {mode} in this store"
    else:
        newest = (_newest(connection, "id", word) or _newest(connection, "name", word)) if word else None
        missing = f"there is no run {word!r} in this store"
    if newest is not None:
        return newest
    ids = connection.execute(
        "SELECT id FROM runs WHERE ?1 <> '' AND substr(id, 1, ?2) = ?1 LIMIT 2", (word, len(word))
    ).fetchall()
    if len(ids) > 1:
        raise UnknownRun(f"{word!r} begins more than one run id", hint="give more of the id")
    if not ids:
        raise _unknown(connection, word, missing)
    return str(ids[0][0])


def _unknown(connection: Connection, word: str, missing: str) -> UnknownRun:
    left = [(run, told.pruned) for run, told in standing.of_all(connection).items() if told.pruned is not None]
    for run, (ts, facts) in left:
        if word and run.startswith(word):
            said = f"run {run} was pruned at {ts} by {facts.by}: {facts.reason}"
            return UnknownRun(said, hint="a bundle that was made of it before still verifies")
    pruned = f"; {len(left)} were pruned" if left else ""
    return UnknownRun(missing + pruned, hint=_names(connection, word))


def _newest(connection: Connection, column: str, value: str) -> str | None:
    row = connection.execute(
        f"SELECT id FROM runs WHERE {column} = ? ORDER BY opened DESC, id DESC LIMIT 1", (value,)
    ).fetchone()
    return None if row is None else str(row[0])


def _names(connection: Connection, word: str) -> str:
    named = connection.execute(
        "SELECT name FROM runs WHERE name <> '' GROUP BY name ORDER BY MAX(opened) DESC LIMIT 5"
    ).fetchall()
    names = ", ".join(name for (name,) in named)
    runs = f"named runs: {names}" if names else "`edgetape runs` lists them"
    is_path = "/" in word or word.endswith(_FILES)
    return f"if a file is meant: it is not there, or not taken here; {runs}" if is_path else runs
