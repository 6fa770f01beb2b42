"""`edgetape learn`: what differs between recordings of one agent by nature, and the rules that allow it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from proxy.border import Misuse, Verb
from proxy.options import Shared, options
from proxy.output import as_json_text
from proxy.talk import Talk
from proxy.words import count, printable

if TYPE_CHECKING:
    from replay_server.learning import Learned, Proposal

SCHEMA = "edgetape/learned/1"
_SHOWN_MAX = 3

_EPILOG = """\b
The first RUN is the measure. The rules of edgetape.toml, and those that come with edgetape, hold already.
stdout: lines for the [replay] table of edgetape.toml, each after what speaks for it.
With --json: {schema, runs, pairs, proposals, left}; a proposal is {table, rule, why, evidence}.
"""


@click.command(cls=Verb, short_help="Propose rules from several recordings of an agent.", epilog=_EPILOG)
@click.argument("runs", metavar="RUN RUN...", nargs=-1, required=True)
@options("json")
@click.pass_context
def command(context: click.Context, runs: Sequence[str], as_json: bool) -> int:
    """Compare recordings of the same agent, and propose rules for what differs by nature."""
    from proxy.configuration import nearest
    from replay_server.learning import learn
    from replay_server.normalise import Rules
    from replay_server.rules import BadRule
    from replay_server.tape import Tape
    from store.reader import Reader

    shared: Shared = context.obj
    standing = nearest(Path.cwd())
    try:
        rules = Rules.of(standing.ignore, standing.optional)
    except BadRule as error:
        raise Misuse(str(error), hint=error.hint) from error
    with Reader.open(shared.store, shared.keys) as reader:
        infos = [reader.find(run) for run in runs]
        if len({info.id for info in infos}) < 2:
            raise Misuse("it takes two recordings to see what differs", hint="record the agent once more")
        measure, *others = [Tape(reader, info, rules) for info in infos]
        learned = learn(measure, others)
    if as_json:
        click.echo(as_json_text(_document(learned, [info.id for info in infos])))
    else:
        _tell(learned)
    talk = Talk.of(context)
    for line in learned.left:
        talk.warn(f"still differs: {printable(line, one_line=True)}")
    talk.say(f"{count(learned.pairs, 'pair')} of requests compared, {count(len(learned.proposals), 'rule')} proposed")
    return 0


def _tell(learned: "Learned") -> None:
    for table in ("ignore", "optional"):
        listed = [each for each in learned.proposals if each.table == table]
        if listed:
            click.echo(f"{table} = [")
            for each in listed:
                _tell_one(each)
            click.echo("]")


def _tell_one(proposal: "Proposal") -> None:
    if proposal.why:
        click.echo(f"    # {printable(proposal.why, one_line=True)}")
    for each in proposal.evidence[:_SHOWN_MAX]:
        was, became = (printable(text, one_line=True) for text in (each.recorded, each.live))
        click.echo(f"    # step {each.step}: {was} is {became} at step {each.other}")
    more = len(proposal.evidence) - _SHOWN_MAX
    if more > 0:
        click.echo(f"    # and {more} more")
    click.echo(f"    {_toml(proposal.rule)},")


def _toml(rule: str) -> str:
    """A TOML string: literal where it can be, since rules have backslashes."""
    if "'" not in rule and rule.isprintable():
        return f"'{rule}'"
    escaped = rule.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in escaped) + '"'


def _document(learned: "Learned", runs: list[str]) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "runs": runs,
        "pairs": learned.pairs,
        "proposals": [
            {
                "table": each.table,
                "rule": each.rule,
                "why": each.why,
                "evidence": [
                    {"step": one.step, "other": one.other, "recorded": one.recorded, "live": one.live}
                    for one in each.evidence
                ],
            }
            for each in learned.proposals
        ],
        "left": learned.left,
    }
