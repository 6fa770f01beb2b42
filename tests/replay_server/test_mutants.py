"""Fifty seeded changes of real agents: each is found, with its kind and its step; unchanged they replay clean."""

import random

import pytest

from replay_server.server import ReplayOptions, ReplayServer
from tests.replay_server.mutants import ONE_OF_EACH, Make, swapped_date, swapped_id
from tests.replay_server.recording import Place
from tests.replay_server.taped import NAMES, taped, walk, writer

CASES: list[tuple[str, str, Make, int]] = [
    *((name, run, make, seed) for seed, run in enumerate(NAMES) for name, make in ONE_OF_EACH.items()),
    *(("another id", run, swapped_id, seed) for run in ("airline", "booking", "repair") for seed in range(4)),
    *(("another date", run, swapped_date, seed) for run in ("airline", "booking") for seed in range(5)),
]


def said(server: ReplayServer) -> list[tuple[str, str, int]]:
    """What a replay found, as (what, kind, step)."""
    found = server.session.findings
    return [
        *(("drifted", str(drift.changes[0].kind), drift.step) for drift in found.drifts),
        *(("reordered", str(one.before), one.step) for one in found.reordered),
        *(("exhausted", "", one.nearest or 0) for one in found.exhausted),
        *(("unexpected", "", one.number) for one in found.unexpected),
        *(("never_requested", "", step) for step, _ in found.never_requested),
    ]


def test_there_are_at_least_fifty_and_twenty_of_them_swap_a_value() -> None:
    assert len(CASES) >= 50
    assert sum(make in (swapped_id, swapped_date) for _, _, make, _ in CASES) >= 20


@pytest.mark.parametrize("run", NAMES)
async def test_a_real_agent_replays_clean(place: Place, run: str) -> None:
    async with place.replaying(place.record(writer(taped(run)))) as server:
        walk(server.session, list(taped(run)))
        report = await server.stop(0)
    assert (report.exit_code, report.counts["matched"]) == (0, len(taped(run))), report.text()


@pytest.mark.parametrize("name, run, make, seed", CASES)
async def test_a_change_is_found_with_its_kind_and_step(
    place: Place, name: str, run: str, make: Make, seed: int
) -> None:
    mutant = make(list(taped(run)), random.Random(f"{name} {run} {seed}"))
    async with place.replaying(place.record(writer(taped(run))), ReplayOptions(on_drift="serve")) as server:
        walk(server.session, mutant.steps)
        report = await server.stop(0)
        assert said(server) == [mutant.found], report.text()
        assert report.exit_code != 0
