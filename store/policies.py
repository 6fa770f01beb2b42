"""Notes in the store log when other rules are in force than those that it named last (docs/format.md, section 6)."""

import json
from collections.abc import Mapping

from store import envelopes, log
from store.core import leaf
from store.core.leaf import PolicyKind
from store.core.retention import DEFAULT
from store.database.connection import Connection
from store.ticket import Ticket
from store.writer import Writer


def note(writer: Writer, in_force: Mapping[PolicyKind, str]) -> Ticket:
    """Notes what has changed; `in_force` are the digests or versions of the rules by their kind."""

    def apply(connection: Connection, ts: str) -> None:
        for kind, now in in_force.items():
            before = _last(connection, kind)
            if before not in ("", now):
                log.append(connection, ts, leaf.PolicyChanged(policy=kind, now=now, before=before))

    return writer.change(apply)


def _last(connection: Connection, kind: PolicyKind) -> str:
    """What the log named last; where it named nothing, what was in force all the same; empty where nobody knows."""
    query = "SELECT leaf FROM leaves WHERE instr(leaf, ?) > 0 AND instr(leaf, ?) > 0 ORDER BY position DESC LIMIT 1"
    row = connection.execute(query, (b'"type":"policy.changed"', f'"policy":"{kind}"'.encode())).fetchone()
    if row is not None:
        return str(json.loads(row[0])["now"])
    return DEFAULT if kind == "retention" else _of_newest_run(connection)


def _of_newest_run(connection: Connection) -> str:
    row = connection.execute("SELECT id FROM runs ORDER BY opened DESC, id DESC LIMIT 1").fetchone()
    opened = None if row is None else envelopes.first(connection, row[0])
    return "" if opened is None else str(json.loads(opened.raw)["policies"]["redaction"])
