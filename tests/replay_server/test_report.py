"""The end report: counts, words, JSON, and the verdict as the last line."""

import json

import pytest

from replay_server.drift import changes
from replay_server.findings import Clients, Findings, Missed, Reordered
from replay_server.report import SCHEMA, Report, report
from replay_server.wording import Ending
from tests.replay_server.asking import chat, posted

NAMES = ("01a2-run", "nightly", "01a3-replay")


def made(found: Findings, ending: Ending | None = None, clients: Clients | None = None, *rules: str) -> Report:
    return report(NAMES, found, clients or Clients(), ending or Ending(0, (), confined=True), rules)


def drifted() -> Findings:
    found = Findings(9, requests=1)
    recorded, live = (chat(("system", text), ("user", "q")) for text in ("be terse", "be chatty"))
    found.drift(8, 20, "POST https://api.openai.com/v1/chat/completions", changes(recorded, live), "")
    return found


def test_a_clean_replay() -> None:
    done = made(Findings(3, requests=3, matched=3))
    assert done.exit_code == 0
    assert done.verdict == "REPLAYED: all 3 recorded exchanges were asked for and answered; nothing could get out"


def test_one_exchange_is_one_and_none_is_none() -> None:
    one = made(Findings(1, requests=1, matched=1)).text()
    assert "  1 recorded exchange; requests 1, matched 1" in one
    assert "REPLAYED: the one recorded exchange was asked for and answered; " in one
    assert "not well formed: 1 request\n" in made(Findings(1), clients=Clients(malformed=1, hung=1, strangers=1)).text()
    assert "1 of 2 recorded exchanges was asked for; the rest is optional" in made(Findings(2, matched=1)).text()
    none = made(Findings(0)).text()
    assert "  0 recorded exchanges; nothing was asked for" in none
    assert "REPLAYED: nothing was recorded, and nothing was asked for; " in none


def test_a_local_port_that_was_allowed_is_said() -> None:
    done = made(Findings(1, requests=1, matched=1), Ending(0, (), confined=True, allowed=(5432,)))
    assert done.verdict.endswith("nothing could get out but to local port 5432, as allowed")


def test_without_confinement_it_claims_less() -> None:
    done = made(Findings(1, requests=1, matched=1), Ending(0, ()))
    assert done.text().splitlines()[-1].endswith("UNCONFINED: the replay server opened 0 connections")
    assert done.document["confinement"] == "unconfined"


def test_the_agents_exit_code_is_passed_on() -> None:
    done = made(Findings(1, requests=1, matched=1), Ending(3, (), confined=True))
    assert done.exit_code == 3
    assert "the agent ended with 3" in done.verdict


def test_a_drift_is_told_with_all_that_one_needs() -> None:
    done = made(drifted())
    assert done.exit_code == 40
    text = done.text()
    for part in (
        "drifted at step 8: system prompt, body /messages/0/content",
        '  recorded: "be terse"',
        '  live:     "be chatty"',
        "  to allow: --ignore 'body /messages/0/content'",
    ):
        assert part in text.splitlines()
    assert text.splitlines()[-1].startswith("DRIFTED at step 8: system prompt, body /messages/0/content")


def test_a_line_break_in_a_members_name_leaves_the_verdict_whole_and_the_rule_ready_to_paste() -> None:
    found = Findings(1, requests=1)
    recorded, live = (posted({"it's\nodd": number}) for number in (1, 2))
    found.drift(1, 1, "POST https://api.example/pay", changes(recorded, live), "")
    lines = made(found).text().splitlines()
    assert "  to allow: --ignore $'body /it\\'s\\nodd'" in lines
    assert lines[-1].startswith("DRIFTED at step 1: tool arguments, body /it's\\nodd; ")


def test_the_json_says_the_same() -> None:
    document = json.loads(made(drifted()).json())
    (drift,) = document["drifted"]
    assert document["schema"] == SCHEMA
    assert document["exit_code"] == 40
    assert document["run"] == {"id": "01a2-run", "name": "nightly"}
    assert document["replay"] == {"id": "01a3-replay"}
    assert (drift["step"], drift["seq"], drift["kind"], drift["pointer"]) == (
        8,
        20,
        "system prompt",
        "/messages/0/content",
    )
    assert (drift["recorded"], drift["live"]) == ('"be terse"', '"be chatty"')
    assert document["upstream_connections"] == 0


def test_every_count_is_there_even_when_it_is_none() -> None:
    counts = made(Findings(0)).counts
    assert set(counts) == {
        "exchanges", "requests", "matched", "mapped", "optional", "repeated", "messages", "drifted", "reordered",
        "unexpected", "exhausted", "never_requested", "refused", "unserved", "after_stop", "local_tunnels", "failed",
    }  # fmt: skip


def findings(name: str) -> tuple[Findings, Ending]:
    found, ending = Findings(5, requests=5, matched=4), Ending(0, (), confined=True)
    match name:
        case "refused":
            ending = Ending(0, ("TCP to 192.0.2.1 port 80",), confined=True)
        case "unexpected":
            found.unexpected.append(Missed("GET http://x/", 3))
        case "exhausted":
            found.exhausted.append(Missed("GET http://x/", 3, 2))
        case "reordered":
            found.reordered.append(Reordered(4, 2, "GET http://x/"))
        case "never requested":
            found.never_requested.append((4, "GET http://x/"))
        case "failed":
            found.failures.append("a fault of ours")
    return found, ending


@pytest.mark.parametrize(
    "name, code, words",
    [
        ("refused", 43, "REFUSED: TCP to 192.0.2.1 port 80"),
        ("unexpected", 41, "UNEXPECTED: GET http://x/ is not in the recording"),
        ("exhausted", 41, "EXHAUSTED: GET http://x/ was asked for more often than recorded"),
        ("reordered", 40, "REORDERED: step 4 was asked for before step 2"),
        ("never requested", 42, "NEVER REQUESTED: step 4, GET http://x/"),
        ("failed", 125, "FAILED: a fault of ours"),
    ],
)
def test_each_finding_has_its_code_and_its_words(name: str, code: int, words: str) -> None:
    done = made(*findings(name))
    assert done.exit_code == code
    assert done.text().splitlines()[-1].startswith(words)


def test_rules_that_took_nothing_out_are_stale() -> None:
    found = Findings(1, requests=1, matched=1)
    found.ignored["query page"] = 2
    text = made(found, None, None, "query page", "body /x").text()
    assert "ignored by rule: query page (2)" in text
    assert "stale rule, nothing needs it any more: body /x" in text


def test_clients_that_never_asked_are_named_by_host() -> None:
    clients = Clients()
    clients.distrusted["a.example"] += 2
    clients.h2_only["b.example"] += 1
    text = made(Findings(0), None, clients).text()
    assert "a client does not trust edgetape's authority: a.example (2)" in text
    assert "a client insists on HTTP/2, which a replay does not speak: b.example (1)" in text
