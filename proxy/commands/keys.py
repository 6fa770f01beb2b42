"""`edgetape keys`: the keys that sign a store's log, and the one that opens its bodies (docs/keys.md)."""

import shlex
from pathlib import Path

import click

from proxy.border import Misuse, Verb
from proxy.options import Shared, options
from proxy.output import as_json_text, table
from proxy.talk import Talk
from store.core.errors import KeyUnavailable
from store.core.leaf import RevokeReason
from store.signing import CommandKey
from store.storekey import StoreKey

_MADE = """\b
With --json: {vkey}; what verifiers pin: edgetape verify --pin VKEY.
"""
_SHOWN = """\b
With --json: {origin, keys, store_key}; a key is {vkey, id, state, first, last, revoked, file}: it signs checkpoints of
`first` to `last` leaves (null: of all that come), leaf `revoked` revokes it, its private half is in `file` (null: not
here). The store key is {id, file}, or null: not here, so that no body can be read.
"""
_ROTATED = """\b
With --json: {vkey}; what verifiers pin: edgetape verify --pin VKEY. With --store-key: {store_key, old_file}, the first
as `keys show` has it, the other the file of the old store key.
"""


@click.group(short_help="Look after the keys of the store.")
def command() -> None:
    """The keys that sign the log, of which one is in force, and the store key, which opens the bodies."""


@command.command(cls=Verb, epilog=_MADE)
@options("sign-command", "public-key", "json")
@click.pass_context
def init(context: click.Context, sign_command: str | None, public_key: Path | None, as_json: bool) -> int:
    """Make a store with its first key; without this, the first recording makes a key file."""
    from store import custody

    shared: Shared = context.obj
    key = custody.begin(shared.store, shared.keys, _command_key(sign_command, public_key))
    click.echo(as_json_text({"vkey": str(key)}) if as_json else str(key))
    return 0


@command.command(cls=Verb, epilog=_SHOWN)
@options("json")
@click.pass_context
def show(context: click.Context, as_json: bool) -> int:
    """List the keys of the store, with what they may sign."""
    from store import custody, storekey

    shared: Shared = context.obj
    origin, keys = custody.show(shared.store, shared.keys)
    opens = custody.store_key(shared.store, shared.keys)
    records: list[dict[str, object]] = [
        {
            "vkey": str(kept.term.key),
            "id": kept.term.key.key_id.hex(),
            "state": kept.term.state,
            "first": kept.term.first,
            "last": kept.term.last,
            "revoked": kept.term.revoked,
            "file": None if kept.file is None else str(kept.file),
        }
        for kept in keys
    ]
    if as_json:
        click.echo(as_json_text({"origin": origin, "keys": records, "store_key": opens and _shown(opens)}))
        return 0
    heads = ("id", "state", "first", "last", "revoked", "file", "vkey")
    rows = [tuple("-" if record[head] is None else str(record[head]) for head in heads) for record in records]
    if opens is not None:
        rows.append((opens.key_id, "store key", "-", "-", "-", str(opens.file), "-"))
    table(shared.color, heads, rows, right=(2, 3, 4))
    if opens is None:
        Talk.of(context).warn(f"the store key is not in {shared.keys}: no body can be read", storekey.LOST)
    return 0


@command.command(cls=Verb, epilog=_ROTATED)
@options("sign-command", "public-key", "store-key", "json")
@click.pass_context
def rotate(
    context: click.Context, sign_command: str | None, public_key: Path | None, store_key: bool, as_json: bool
) -> int:
    """Let another key sign from here on; the old one and the new one both sign that.

    Who pinned an earlier key need not be told: verification follows. The old key's file stays where it is.
    """
    from store import custody

    shared: Shared = context.obj
    if store_key:
        if sign_command is not None or public_key is not None:
            raise Misuse("--store-key goes alone: a store key signs nothing, and no command can hold it")
        return _rotate_store_key(context, as_json=as_json)
    key = custody.rotate(shared.store, shared.keys, _command_key(sign_command, public_key))
    click.echo(as_json_text({"vkey": str(key)}) if as_json else str(key))
    return 0


@command.command(cls=Verb, epilog=_MADE)
@click.argument("key", metavar="ID")
@options("reason", "json")
@click.pass_context
def revoke(context: click.Context, key: str, reason: RevokeReason, as_json: bool) -> int:
    """Declare that a retired key is not to be believed any more."""
    from store import custody

    shared: Shared = context.obj
    revoked = custody.revoke(shared.store, shared.keys, key, reason)
    Talk.of(context).say("what it signed before stays signed; tell those who pinned it to pin the key in force")
    click.echo(as_json_text({"vkey": str(revoked)}) if as_json else str(revoked))
    return 0


@command.command(cls=Verb, epilog=_MADE)
@options("json")
@click.pass_context
def export(context: click.Context, as_json: bool) -> int:
    """Print the public half (vkey) of the key in force: what verifiers pin."""
    from store import custody

    shared: Shared = context.obj
    _, keys = custody.show(shared.store, shared.keys)
    key = str(keys[-1].term.key)
    click.echo(as_json_text({"vkey": key}) if as_json else key)
    return 0


def _rotate_store_key(context: click.Context, *, as_json: bool) -> int:
    from store import custody

    shared: Shared = context.obj
    old, fresh = custody.rotate_store_key(shared.store, shared.keys)
    Talk.of(context).say(
        f"copies of the store that were made before still open with {old}: remove it, once none of them is to be read"
        " any more, and what was erased since is gone from them too"
    )
    record = {"store_key": _shown(fresh), "old_file": str(old)}
    click.echo(as_json_text(record) if as_json else str(fresh.file))
    return 0


def _shown(key: StoreKey) -> dict[str, str]:
    return {"id": key.key_id, "file": str(key.file)}


def _command_key(command: str | None, public_key: Path | None) -> CommandKey | None:
    from store import signing

    if (command is None) != (public_key is None):
        raise Misuse("--sign-command and --public-key go together: the command signs, the key says what for")
    if command is None or public_key is None:
        return None
    try:
        return signing.command_key(shlex.split(command), signing.public_key(public_key.read_bytes()))
    except (KeyUnavailable, ValueError, OSError) as error:
        raise Misuse(f"no key can be made of that command: {error}", hint=getattr(error, "hint", "")) from error
