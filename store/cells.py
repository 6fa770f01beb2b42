"""Values of the tables asked for as what they ought to be: the types that a table was made with can be unmade."""


def exact(text: str) -> bytes:
    """The bytes of a text that was read, also of one that is no UTF-8, for CAST(? AS TEXT)."""
    return text.encode("utf-8", "surrogateescape")


def blob(column: str) -> str:
    """Bytes; none where something else stands."""
    return f"CASE typeof({column}) WHEN 'blob' THEN {column} ELSE x'' END"


def text(column: str) -> str:
    """Text, as far as it is one."""
    return f"COALESCE(CAST({column} AS TEXT), '')"


def number(column: str) -> str:
    """An integer; -1 where something else stands."""
    return f"COALESCE(CAST({column} AS INTEGER), -1)"
