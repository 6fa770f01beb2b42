"""The tables of docs/format.md, from the types that they describe (`python -m tests.docs.tables` writes them anew)."""

import re
import types
import typing
from collections.abc import Iterable
from pathlib import Path

import msgspec

from store.core import annotation, leaf, model, text
from store.core.shape import Count, Run, Time

PAGE = Path(__file__).parents[2] / "docs" / "format.md"

_KINDS: dict[object, str] = {
    text.Number: "int",
    bool: "bool",
    str: "str",
    text.Body: "body",
    text.Text: "text",
    text.Pairs: "pairs",
    text.Headers: "headers",
    text.Hex32: "hash",
    Run: "run",
    Count: "count",
    Time: "time",
    text.Tallies: "tallies",
    list[text.Text]: "array of text",
    list[str]: "array of str",
}


def written(page: str) -> str:
    """The page with its tables as the types are now."""
    objects: list[tuple[str, type[model.Facts]]] = [
        ("agent", model.Agent),
        ("policies", model.Policies),
        ("parent", model.Parent),
        ("checkpoint", model.LogPoint),
    ]
    tables = {
        "events": _table("type", model.EVENT_TYPES.items()),
        "objects": _table("object", objects),
        "leaves": _table("type", leaf.LEAF_TYPES.items()),
        "annotations": _annotations(),
    }
    for name, table in tables.items():
        block = re.compile(rf"(<!-- table: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        page = block.sub(lambda found, table=table: found[1] + table + found[2], page)  # type: ignore[misc]
    return page


def _table(what: str, kinds: Iterable[tuple[str, type[model.Facts]]]) -> str:
    rows = [f"| `{name}` | {'; '.join(map(_member, msgspec.structs.fields(kind)))} |" for name, kind in kinds]
    return "\n".join([f"| {what} | members |", "|---|---|", *rows, ""])


def _annotations() -> str:
    place, said = (msgspec.structs.fields(kind) for kind in (annotation.Place, annotation.Annotation))
    return f"| type | members |\n|---|---|\n| `annotation` | {'; '.join(map(_member, (*place, *said)))} |\n"


def _member(field: msgspec.structs.FieldInfo) -> str:
    name, kind = f"`{field.encode_name}`", _kind(field.type)
    if field.required:
        return f"{name} {kind}"
    default = "" if field.default is None else f" ={str(field.default).lower()}"
    return f"{name}? {kind}{default}"


def _kind(annotation: object) -> str:
    if annotation in _KINDS:
        return _KINDS[annotation]
    if typing.get_origin(annotation) is typing.Literal:
        return "\\|".join(typing.get_args(annotation))
    if typing.get_origin(annotation) in (types.UnionType, typing.Union):
        (present,) = (each for each in typing.get_args(annotation) if each is not types.NoneType)
        return _kind(present)
    return "object"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
