"""The table [proxy] of the settings file: what nobody said on the command line or in the environment.

Its members are named as the options are, without the dashes in front: `allow-host = ["api.openai.com"]`. Paths in it
are relative to the file.
"""

from collections.abc import Mapping
from pathlib import Path

import click
from click.core import ParameterSource

from proxy.border import Misuse
from proxy.configuration import content, table
from proxy.options import Shared

TABLE = "proxy"
_NOT_HERE = frozenset(("json",))


def completed[G: Mapping[str, object]](context: click.Context, given: G, shared: Shared) -> G:
    """`given`, completed from the file as it is now. Raises Misuse."""
    path = shared.config
    if shared.is_default("config") and not path.exists():
        return given
    return completed_from(context, given, table(path, content(path), TABLE), path)


def completed_from[G: Mapping[str, object]](
    context: click.Context, given: G, said: Mapping[str, object], path: Path
) -> G:
    """The same from what the table says. Raises Misuse."""
    options = {
        word.removeprefix("--"): option
        for option in context.command.params
        for word in option.opts
        if option.expose_value and word.startswith("--") and word.removeprefix("--") not in _NOT_HERE
    }
    taken: dict[str, object] = {}
    for name, value in said.items():
        option = options.get(name)
        if option is None:
            raise Misuse(f"{path}: [{TABLE}] has no {name!r}", hint=f"it has {', '.join(sorted(options))}")
        assert option.name is not None
        if context.get_parameter_source(option.name) in (ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP):
            taken[option.name] = _value(context, option, name, value, path)
    return {**given, **taken}  # type: ignore[return-value]  # the same members


def _value(context: click.Context, option: click.Parameter, name: str, value: object, path: Path) -> object:
    flag = isinstance(option, click.Option) and option.is_flag
    if isinstance(value, bool) is not flag or isinstance(value, list) is not option.multiple or _is_odd(value):
        kind = "true or false" if flag else "a list" if option.multiple else "one value"
        raise Misuse(f"{path}: [{TABLE}] {name} is {kind}, not {value!r}")
    if isinstance(option.type, click.Path) and isinstance(value, str):
        value = str(path.parent / value)
    try:
        return option.type_cast_value(context, value)
    except click.BadParameter as error:
        raise Misuse(f"{path}: [{TABLE}] {name}: {error.message}") from error


def _is_odd(value: object) -> bool:
    """Neither a plain value nor a list of texts."""
    if isinstance(value, list):
        return not all(isinstance(each, str) for each in value)
    return not isinstance(value, bool | int | float | str)
