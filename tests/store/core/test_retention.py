"""Retention: ages as a calendar has them, floors that hold, and what stays although its time is over."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from store.core.retention import FLOOR, Age, BadPolicy, DataClass, Plan, Policy, Step, Subject, plan

NOW = datetime(2026, 8, 31, 12, 0, tzinfo=UTC)


def ages(**spelled: str) -> dict[DataClass, Age]:
    return {kind: Age.parse(text) for kind, text in spelled.items()}  # type: ignore[misc]


def policy(floor: str = "0d", **spelled: str) -> Policy:
    floors: dict[DataClass, Age] = dict.fromkeys(("envelopes", "payloads", "receipts"), Age.parse(floor))
    return Policy(ages(**spelled), floors)


def subject(run: str, days: float, **more: Any) -> Subject:  # noqa: ANN401
    """A run that ended so many days ago."""
    ended = (NOW - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return Subject(**{"run": run, "mode": "record", "closed": ended, "others": (0, 1)} | more)


def pruned(found: Plan) -> list[str]:
    return [step.run for step in found.steps if step.kind == "envelopes"]


@pytest.mark.parametrize(
    "text, before",
    [
        ("0d", NOW),
        ("1 day", datetime(2026, 8, 30, 12, 0, tzinfo=UTC)),
        ("2w", datetime(2026, 8, 17, 12, 0, tzinfo=UTC)),
        ("6mo", datetime(2026, 2, 28, 12, 0, tzinfo=UTC)),
        ("6 months", datetime(2026, 2, 28, 12, 0, tzinfo=UTC)),
        ("2y", datetime(2024, 8, 31, 12, 0, tzinfo=UTC)),
        ("99999y", datetime(1970, 1, 1, tzinfo=UTC)),
        ("99999d", datetime(1970, 1, 1, tzinfo=UTC)),
    ],
)
def test_an_age_reaches_back_as_a_calendar_has_it(text: str, before: datetime) -> None:
    assert Age.parse(text).before(NOW) == before


@pytest.mark.parametrize("text", ["", "6", "mo", "-1d", "1.5y", "6m", "1h", "1d 2w", "٣d"])
def test_what_is_no_age_is_refused(text: str) -> None:
    with pytest.raises(BadPolicy, match="is no age"):
        Age.parse(text)


@given(some.integers(0, 2000), some.integers(0, 99999), some.datetimes(timezones=some.just(UTC)))
def test_an_age_never_reaches_forward(months: int, days: int, now: datetime) -> None:
    if now.year >= 1970:
        assert Age(months, days).before(now) <= now


@pytest.mark.parametrize("kind", ["envelopes", "payloads", "receipts"])
def test_nothing_goes_before_six_months_unless_the_policy_says_so(kind: DataClass) -> None:
    for spelled in ("5mo", "181d", "0d"):
        with pytest.raises(BadPolicy, match=f"{kind} are to be kept for 6mo at least"):
            plan(Policy({kind: Age.parse(spelled)}), [], NOW)
    assert plan(Policy({kind: FLOOR}), [], NOW) == Plan()
    assert plan(Policy({kind: Age.parse("0d")}, {kind: Age.parse("0d")}), [], NOW) == Plan()


def test_what_no_age_is_named_for_stays_for_ever() -> None:
    assert plan(Policy(), [subject("old", 40000)], NOW) == Plan()


def test_each_class_goes_at_its_own_age() -> None:
    runs = [subject("new", 5), subject("mid", 50), subject("old", 500)]
    found = plan(policy(envelopes="1y", payloads="30d"), runs, NOW)
    assert found.steps == (Step("old", "envelopes", "1y"), Step("mid", "payloads", "30d"))


def test_receipts_outlive_the_other_bodies_and_keep_their_run() -> None:
    runs = [subject("paid", 500, receipts=(7, 8)), subject("read", 500)]
    found = plan(policy(envelopes="1y", payloads="30d", receipts="3y"), runs, NOW)
    assert found.steps == (Step("read", "envelopes", "1y"), Step("paid", "payloads", "30d", (0, 1)))
    later = plan(policy(payloads="30d", receipts="1y"), runs[:1], NOW)
    assert later.steps == (Step("paid", "payloads", "30d", (0, 1)), Step("paid", "receipts", "1y", None))


def test_what_is_gone_is_not_due_again() -> None:
    assert plan(policy(payloads="30d"), [subject("bare", 50, others=())], NOW) == Plan()


@pytest.mark.parametrize(
    "more, why",
    [
        ({"hold": "a dispute"}, "held: a dispute"),
        ({"damaged": True}, "damaged: edgetape verify says where"),
    ],
)
def test_what_is_held_or_damaged_stays_whole(more: dict[str, Any], why: str) -> None:
    for spelled in ({"envelopes": "30d"}, {"payloads": "30d"}):
        found = plan(policy(**spelled), [subject("old", 50, **more)], NOW)
        assert found == Plan((), (("old", why),))


def test_an_open_run_stays() -> None:
    assert plan(policy(envelopes="0d", payloads="0d"), [subject("open", 50, closed="")], NOW) == Plan()


def test_the_newest_recorded_runs_stay() -> None:
    runs = [subject("replay", 40, mode="replay"), *(subject(str(days), days) for days in (41, 42, 43))]
    found = plan(policy(envelopes="30d"), runs, NOW, keep_last=2)
    assert pruned(found) == ["replay", "43"]
    assert dict(found.kept) == {"41": "one of the newest", "42": "one of the newest"}


def test_what_a_run_that_stays_goes_on_from_stays_too() -> None:
    runs = [
        subject("grandchild", 5, parent="child"),
        subject("child", 50, parent="root"),
        subject("worker", 50, parent="root"),
        subject("root", 51),
        subject("orphan", 52, parent="gone"),
    ]
    found = plan(policy(envelopes="30d"), runs, NOW)
    assert pruned(found) == ["worker", "orphan"]
    assert set(dict(found.kept)) == {"child", "root"}


def test_a_run_that_names_itself_as_its_parent_ends_nothing() -> None:
    runs = [subject("a", 50, parent="b"), subject("b", 50, parent="a"), subject("c", 50, parent="c")]
    assert pruned(plan(policy(envelopes="30d"), runs, NOW)) == ["a", "b", "c"]


def test_the_log_says_which_rule_it_was() -> None:
    assert Step("run", "payloads", "30d").why == "retention: payloads for 30d"
