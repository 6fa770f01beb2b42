"""`edgetape annotate`: says something about an event of a run, on record and apart from it (docs/annotations.md)."""

import os
import sys
from pathlib import Path
from typing import TypedDict, Unpack

import click

from proxy.border import Misuse, Verb
from proxy.options import Shared, options
from proxy.output import as_json_text
from proxy.stores import upkeep
from proxy.talk import Talk
from proxy.views.remarks import event_of, numbered
from proxy.words import count

_EPILOG = """\b
    edgetape annotate last 3 --kind approval --text "checked against the order, OPS-17"
    edgetape annotate last --seq 12 --text-file finding.txt
    edgetape annotate last 3 --corrects 0 --text "checked against the right order, OPS-18"
Without STEP and --seq it is about the run as a whole. Secrets are taken out of the text as out of all that is recorded.
Nothing that was said is ever changed: a correction says so, and both stay. WHO is a claim of whoever has the store.
With --json: the annotation, as `edgetape annotations --json` has it.
"""


class Given(TypedDict):
    """The options as click gives them."""

    text: str | None
    text_file: Path | None
    seq: int | None
    kind: str
    corrects: int | None
    by: str
    as_json: bool


@click.command(cls=Verb, short_help="Say something about a step, on record.", epilog=_EPILOG)
@click.argument("run", metavar="RUN")
@click.argument("step", type=click.IntRange(min=1), required=False)
@options("text", "text-file", "kind", "corrects", "seq", "by", "json")
@click.pass_context
def command(context: click.Context, run: str, step: int | None, **given: Unpack[Given]) -> int:
    """Say something about STEP of RUN, or about the event that --seq names, on record."""
    from store.annotations import Remark, annotating
    from store.core import annotation, redact
    from store.exchange import steps
    from store.reader import Reader
    from store.vault import Vault

    if step is not None and given["seq"] is not None:
        raise Misuse("STEP and --seq both name the event", hint="give one of them")
    shared: Shared = context.obj
    with Reader.open(shared.store, shared.keys) as reader:
        found = reader.find(run).id
        seq = given["seq"] or 0
        if step is not None:
            seq = event_of(steps(reader.events(found)), step)
        redactor = redact.Redactor(redact.secrets_of(os.environ))
        try:
            annotation.demand(given["by"], given["kind"])
            said = redactor.body(annotation.fit(_text(given)).encode())
            annotation.fit(said.content.decode())
        except annotation.UnfitAnnotation as error:
            raise Misuse(str(error), hint=error.hint) from error
        by = redactor.plain(given["by"]).content.decode()
    talk = Talk.of(context)
    numbers: list[int] = []
    with upkeep.opened(talk, shared) as writer:
        remark = Remark(found, seq, by, given["kind"], said, given["corrects"])
        writer.change(annotating(remark, Vault(shared.keys, writer.origin), numbers.append)).result()
    if given["as_json"]:
        with Reader.open(shared.store, shared.keys) as reader:
            said_now = [each for each in reader.annotations(found) if each.place.number in numbers]
            click.echo(as_json_text(numbered(said_now, steps(reader.events(found)))[0]))
        return 0
    click.echo(numbers[0])
    talk.say(f"edgetape: that is annotation {numbers[0]} of run {found}, about event {seq}")
    if said.marks:
        talk.say(f"{count(sum(number for _, number in said.marks), 'secret')} taken out of the text")
    return 0


def _text(given: Given) -> str:
    """What is said: given, or read from a file or stdin."""
    text, file = given["text"], given["text_file"]
    if text is not None and file is not None:
        raise Misuse("--text and --text-file both say it", hint="give one of them")
    if text is not None:
        return text
    if file is None and sys.stdin.isatty():
        raise Misuse("an annotation needs a text", hint="--text WORDS, --text-file FILE, or a text on stdin")
    try:
        raw = sys.stdin.buffer.read() if file is None or str(file) == "-" else file.read_bytes()
        return raw.decode("utf-8")
    except OSError as error:
        raise Misuse(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise Misuse("an annotation is UTF-8 text, this is none", hint="spell it in UTF-8") from None
