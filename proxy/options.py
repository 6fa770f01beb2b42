"""How a verb takes its options from the table of settings.

A flag on the command line wins over the EDGETAPE_* variable, and that over the default. The shared options may
stand before the verb or after it.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce
from pathlib import Path

import click

from proxy.settings import SHARED, TABLE, Color
from proxy.settings.setting import Default, Setting
from store.core.address import Server

type Function = Callable[..., int | None]
type Decorator = Callable[[Function], Function]


class Shared:
    """The settings that every verb has; one object a command line, completed by what stands after the verb."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = dict(values)

    def change(self, name: str, value: object) -> None:
        """Takes a value given after the verb."""
        self._values[name] = value
        if name in ("quiet", "verbose"):
            self._values["verbose" if name == "quiet" else "quiet"] = False

    @property
    def words(self) -> list[str]:
        """What stands before a verb to mean the same folders and settings file."""
        named = (("store", self.store), ("keys", self.keys), ("authority", self.authority), ("config", self.config))
        return [f"--{name}={path}" for name, path in named]

    def within(self, folder: Path) -> "Shared":
        """The same with a store and keys beneath another folder."""
        return Shared({**self._values, "store": folder / "store", "keys": folder / "keys"})

    @property
    def store(self) -> Path:
        """The folder of the recordings; of a store that a server keeps, the one that stands for it."""
        return self.placed(self._values["store"])

    def placed(self, place: object) -> Path:
        """The folder of a store, or the one that stands for a store on a server."""
        if not isinstance(place, Server):
            return Path(str(place)).absolute()
        from store.database.server import home

        return home(place, self._folder("homes"))

    @property
    def keys(self) -> Path:
        """The folder of the signing keys."""
        return self._folder("keys")

    @property
    def authority(self) -> Path:
        """The folder of the certificate authority."""
        return self._folder("authority")

    @property
    def config(self) -> Path:
        """The settings file, which need not be there."""
        return self._folder("config")

    def is_default(self, name: str) -> bool:
        """Whether nobody named another folder or file than the usual one."""
        return any(row.name == name and callable(row.default) and row.default() == self._values[name] for row in SHARED)

    @property
    def loudness(self) -> int:
        """-1 (quiet), 0 or 1 (verbose)."""
        return int(bool(self._values["verbose"])) - int(bool(self._values["quiet"]))

    @property
    def color(self) -> Color:
        """Whether to color."""
        choices: dict[object, Color] = {"always": "always", "never": "never"}
        return choices.get(self._values["color"], "auto")

    def _folder(self, name: str) -> Path:
        return Path(str(self._values[name])).absolute()


def options(*names: str, **defaults: Default) -> Decorator:
    """Gives a verb these options of the table, in this order, and every shared one.

    `defaults` gives some of them another default than the table's, by name.
    """
    rows = [replace(TABLE[name], default=defaults.get(name, TABLE[name].default)) for name in names]
    return _together([*(_option(row) for row in rows), *(_again(row) for row in SHARED)])


def shared_options(function: Function) -> Function:
    """Gives the command itself every shared option."""
    return _together([_option(row) for row in SHARED])(function)


def _together(decorators: list[Decorator]) -> Decorator:
    return lambda function: reduce(lambda inner, decorate: decorate(inner), reversed(decorators), function)


def _option(row: Setting) -> Decorator:
    return click.option(
        *row.flags,
        type=row.kind,
        default=row.default,
        help=row.help,
        is_flag=row.flag,
        multiple=row.many,
        metavar=row.metavar,
        envvar=row.variable,
        show_envvar=True,
        show_default=row.default_text if row.default is not None and not row.flag else False,
    )


def _again(row: Setting) -> Decorator:
    """A shared option after the verb: hidden in its help, stronger than before the verb."""

    def take(context: click.Context, _: click.Parameter, value: object) -> None:
        if value not in (None, False) and isinstance(context.obj, Shared):
            context.obj.change(row.name, value)

    return click.option(
        *row.flags,
        type=row.kind,
        is_flag=row.flag,
        default=None,
        hidden=True,
        expose_value=False,
        callback=take,
    )
