"""What was found as JUnit XML and as a step summary: well formed whatever it holds, and each finding named."""

import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from replay_server.drift import changes
from replay_server.findings import Clients, Findings, Forked, Missed, Reordered, Withheld
from replay_server.junit import junit, markdown
from replay_server.report import Report, report
from replay_server.wording import Ending
from tests.replay_server.asking import chat


def made(found: Findings, name: str = "nightly", attempts: tuple[str, ...] = ()) -> Report:
    return report(("01a2-run", name, "01a3"), found, Clients(), Ending(0, attempts, confined=True), ())


def everything() -> Findings:
    found = Findings(9, requests=1)
    recorded, live = (chat(("system", text), ("user", "q")) for text in ("be <terse>", "be \x00 & chatty"))
    found.drift(8, 20, "POST https://api.example/v1/chat", changes(recorded, live), "")
    found.reordered.append(Reordered(4, 3, "GET https://a.example/x"))
    found.unexpected.append(Missed("GET https://a.example/new", 5))
    found.exhausted.append(Missed("GET https://a.example/again", 6, 2, "the recording answered it last at step 2"))
    found.never_requested.append((9, "GET https://a.example/never"))
    found.fork = Forked(3, "status 500", withheld=[Withheld(7, "POST https://a.example/mail", "no rule", "tool=mail")])
    return found


def test_a_clean_replay_is_one_case_that_passes() -> None:
    suite = ET.fromstring(junit(made(Findings(3, requests=3, matched=3)))).find("testsuite")
    assert suite is not None
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == ("edgetape replay of nightly", "1", "0")
    assert suite.find("testcase/failure") is None


def test_each_finding_is_a_case_named_by_its_step() -> None:
    root = ET.fromstring(junit(made(everything(), attempts=("TCP to 203.0.113.7:443",))))
    failed = {
        case.get("name"): failure.get("type") for case in root.iter("testcase") for failure in case.iter("failure")
    }
    assert failed == {
        "verdict": "verdict",
        "step 8: POST https://api.example/v1/chat": "drifted",
        "step 4: GET https://a.example/x": "reordered",
        "request 5: GET https://a.example/new": "unexpected",
        "request 6: GET https://a.example/again": "exhausted",
        "step 9: GET https://a.example/never": "never requested",
        "step 7: POST https://a.example/mail": "refused",
        "TCP to 203.0.113.7:443": "refused",
    }
    assert root.get("failures") == root.get("tests") == "8"


@given(st.text())
def test_any_text_leaves_the_xml_well_formed_and_the_table_whole(text: str) -> None:
    found = Findings(1, requests=1)
    found.unexpected.append(Missed(text, 1, None, text))
    ET.fromstring(junit(made(found, name=text)).encode("utf-8", "replace"))
    rows = [line for line in markdown(made(found, name=text)).splitlines() if line.startswith("| request 1")]
    assert len(rows) == 1


def test_a_step_summary_says_the_verdict_and_folds_the_rest() -> None:
    clean = markdown(made(Findings(3, requests=3, matched=3)))
    assert clean.startswith("### ✅ edgetape replay of nightly\n\n**REPLAYED: all 3 recorded exchanges")
    found = markdown(made(everything()))
    assert found.startswith("### ❌ edgetape fork of nightly")
    assert "| step 8: POST https://api.example/v1/chat | system prompt, body /messages/0/content |" in found
    assert "<details><summary>the whole report</summary>" in found
