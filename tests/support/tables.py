"""Tables that the scripted provider answers from, in the shape of Datasette's JSON API with `_shape=array`.

`/DATABASE/TABLE.json?COLUMN__exact=VALUE` gives the rows, in their order, that have these values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.support.dialogue import Json

Row = Mapping[str, Json]
Tables = Mapping[str, Sequence[Row]]


def rows_for(tables: Tables, path: str, query: Mapping[str, str]) -> list[Json] | None:
    """The rows that a path and a query ask for; None when the path names no table.

    `tables` is keyed by `DATABASE/TABLE`.
    """
    rows = tables.get(path.strip("/").removesuffix(".json")) if path.endswith(".json") else None
    if rows is None:
        return None
    wanted = {name.removesuffix("__exact"): value for name, value in query.items() if name.endswith("__exact")}
    return [dict(row) for row in rows if all(str(row.get(name)) == value for name, value in wanted.items())]
