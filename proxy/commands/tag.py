"""`edgetape tag`: says something about a run, on record, so that it can be found by it."""

from collections.abc import Sequence

import click

from proxy.border import Misuse, Verb
from proxy.options import Shared, options
from proxy.output import as_json_text
from proxy.stores import upkeep
from proxy.talk import Talk
from proxy.words import count, printable
from store.core.leaf import RunTagged
from store.reader import Reader
from store.standing import NOTHING
from store.tagging import tagging

KEY_BYTES_MAX, VALUE_BYTES_MAX = 64, 256

_EPILOG = """\b
    edgetape tag last reviewed=yes ticket=OPS-17
    edgetape tag last --remove ticket
    edgetape runs --tag reviewed=yes
Without a pair it prints the tags of RUN. A tag is kept in the log for ever, with who said so, also once it is removed.
"""


@click.command(cls=Verb, short_help="Say something about a run, to find it by.", epilog=_EPILOG)
@click.argument("run", metavar="RUN")
@click.argument("pairs", metavar="[KEY=VALUE]...", nargs=-1)
@options("remove", "by", "json")
@click.pass_context
def command(
    context: click.Context, run: str, pairs: Sequence[str], removed: Sequence[str], by: str, as_json: bool
) -> int:
    """Give RUN tags, take some off, or print those that it has."""
    shared: Shared = context.obj
    said = [*(_pair(text) for text in pairs), *((_key(key), None) for key in removed)]
    with Reader.open(shared.store, shared.keys) as reader:
        found = reader.find(run).id
        tags = dict(reader.standings().get(found, NOTHING).tags)
    if said:
        talk = Talk.of(context)
        with upkeep.opened(talk, shared) as writer:
            writer.change(tagging([RunTagged(run=found, by=by, key=key, text=value) for key, value in said])).result()
        tags |= {key: value for key, value in said if value is not None}
        tags = {key: value for key, value in sorted(tags.items()) if (key, None) not in said}
        talk.say(f"run {found} has {count(len(tags), 'tag')}")
    if as_json:
        click.echo(as_json_text(tags))
    elif not said:
        for key, value in tags.items():
            click.echo(f"{printable(key, one_line=True)}={printable(value, one_line=True)}")
    return 0


def _pair(text: str) -> tuple[str, str | None]:
    key, equals, value = text.partition("=")
    if not equals:
        raise Misuse(
            f"a tag is KEY=VALUE, not {text}", hint="edgetape tag last reviewed=yes; --remove KEY takes one off"
        )
    if _bytes(value) > VALUE_BYTES_MAX:
        raise Misuse(f"the value of {key} has more than {VALUE_BYTES_MAX} bytes: it is kept in the log for ever")
    return _key(key), value


def _key(key: str) -> str:
    if not 0 < _bytes(key) <= KEY_BYTES_MAX or "=" in key:
        raise Misuse(f"a tag's key has 1 to {KEY_BYTES_MAX} bytes, and no =: {key!r}")
    return key


def _bytes(text: str) -> int:
    try:
        return len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise Misuse("a tag is UTF-8", hint="spell it in UTF-8") from None
