"""The end report as JUnit XML and as Markdown, for the pages that a CI shows. Pure.

A replay is one test suite: one case for the verdict, and one for each thing that was found, named by its step.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from replay_server.departures import Json
from replay_server.report import Report

_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_COUNTED = ("matched", "mapped", "optional", "drifted", "reordered", "unexpected", "exhausted", "never_requested")


@dataclass(frozen=True, slots=True)
class _Case:
    """One thing that was found: what it is called, what kind of failure, in a line and in full."""

    name: str
    kind: str
    message: str
    text: str = ""


def junit(report: Report) -> str:
    """The report as JUnit XML (the form that Jenkins, GitLab and GitHub's reporters read)."""
    cases, clean = list(_cases(report.document)), _is_clean(report)
    name, failures = _suite(report.document), len(cases) + (not clean)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites tests="{len(cases) + 1}" failures="{failures}">',
        f'<testsuite name={_quoted(name)} tests="{len(cases) + 1}" failures="{failures}" errors="0">',
        f'<testcase classname={_quoted(name)} name="verdict">',
        *([] if clean else [_failure(_Case("", "verdict", report.verdict, report.text()))]),
        f"<system-out>{_text(report.text())}</system-out>",
        "</testcase>",
    ]
    for case in cases:
        lines += [f"<testcase classname={_quoted(name)} name={_quoted(case.name)}>", _failure(case), "</testcase>"]
    return "\n".join([*lines, "</testsuite>", "</testsuites>", ""])


def batch(name: str, told: Sequence[tuple[str, bool, str, str]]) -> str:
    """Many replays as one test suite: of each its name, whether it passed, its verdict, and all that was said."""
    failures = sum(not passed for _, passed, _, _ in told)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites tests="{len(told)}" failures="{failures}">',
        f'<testsuite name={_quoted(name)} tests="{len(told)}" failures="{failures}" errors="0">',
    ]
    for case, passed, verdict, said in told:
        found = "" if passed else _failure(_Case(case, "replay", verdict, said))
        lines.append(f"<testcase classname={_quoted(name)} name={_quoted(case)}>{found}</testcase>")
    return "\n".join([*lines, "</testsuite>", "</testsuites>", ""])


def markdown(report: Report) -> str:
    """The report as a section of a GitHub step summary."""
    document = report.document
    counts = [(name, report.counts.get(name, 0)) for name in _COUNTED]
    told = (
        ", ".join(f"{number} {name.replace('_', ' ')}" for name, number in counts if number) or "nothing was asked for"
    )
    mark = "✅" if _is_clean(report) else "❌"
    lines = [
        f"### {mark} {_suite(document)}",
        "",
        f"**{_inline(report.verdict)}**",
        "",
        told or "nothing was asked for",
        "",
    ]
    cases = list(_cases(document))
    if cases:
        lines += ["| where | what |", "|---|---|"]
        lines += [f"| {_inline(case.name)} | {_inline(case.message)} |" for case in cases]
    fence = "`" * (3 + max(map(len, re.findall("`+", report.text())), default=0))
    lines += [
        "",
        "<details><summary>the whole report</summary>",
        "",
        f"{fence}text",
        report.text(),
        fence,
        "",
        "</details>",
        "",
    ]
    return "\n".join(lines)


def _is_clean(report: Report) -> bool:
    return report.verdict.startswith(("REPLAYED", "FORKED", "COMPARED", "SANDBOXED"))


def _suite(document: dict[str, Json]) -> str:
    run, fork = document["run"], document["fork"]
    assert isinstance(run, dict)
    return f"edgetape {fork['mode'] if isinstance(fork, dict) else 'replay'} of {run['name'] or run['id']}"


def _cases(document: dict[str, Json]) -> Iterator[_Case]:
    for found in _listed(document, "drifted"):
        where = f"{found['kind']}, {found['place']} {found['pointer']}"
        text = f"recorded: {found['recorded']}\nlive:     {found['live']}\nto allow: --ignore '{found['rule']}'"
        yield _Case(f"step {found['step']}: {found['request']}", "drifted", where, text)
    for found in _listed(document, "reordered"):
        name = f"step {found['step']}: {found['request']}"
        yield _Case(name, "reordered", f"asked for before step {found['before']}")
    for kind in ("unexpected", "exhausted", "unserved"):
        for found in _listed(document, kind):
            yield _Case(f"request {found['number']}: {found['request']}", kind, str(found["detail"] or kind))
    for found in _listed(document, "never_requested"):
        yield _Case(f"step {found['step']}: {found['request']}", "never requested", "recorded, and not asked for")
    fork = document["fork"]
    for found in _listed(fork, "withheld") if isinstance(fork, dict) else ():
        text = f"to allow: --allow '{found['rule']}'" if found["rule"] else ""
        yield _Case(f"step {found['step']}: {found['request']}", "refused", str(found["why"]), text)
    for kind, name in (("refused", "refused"), ("failures", "failed")):
        listed = document[kind]
        yield from (_Case(str(said), name, str(said)) for said in (listed if isinstance(listed, list) else ()))


def _listed(document: dict[str, Json], name: str) -> list[dict[str, Json]]:
    listed = document[name]
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _failure(case: _Case) -> str:
    opening = f"<failure type={_quoted(case.kind)} message={_quoted(case.message)}>"
    return f"{opening}{_text(case.text or case.message)}</failure>"


def _text(text: str) -> str:
    return escape(_NOT_XML.sub("\ufffd", text))


def _quoted(text: str) -> str:
    return quoteattr(_NOT_XML.sub("\ufffd", text))


def _inline(text: str) -> str:
    """Foreign text as it reads in a Markdown table: no markup, no line of its own."""
    flat = " ".join(text.split())
    return re.sub(r"([\\`*_\[\]<>|#~$@])", r"\\\1", flat)
