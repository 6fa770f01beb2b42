"""Who a run is of: written before the agent starts, read when it is to run again."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from proxy.agent.identity import RUN_VARIABLE, Introduction, parent_in, recorded, run_open
from proxy.agent.revival import revival, stand_in
from proxy.border import Misuse
from store.core.model import RunOpen
from store.reader import Reader
from store.writer import Writer
from tests.proxy.tape import Folders, folders, record_tape

SECRET = "sk-live-0123456789"


@contextmanager
def opened(
    place: Folders, argv: list[str], environment: dict[str, str], folder: Path = Path("/")
) -> Iterator[tuple[Reader, str]]:
    writer = Writer.open(place.store, place.keys)
    introduction = Introduction(name="it", labels={"team": "risk"})
    run, ticket = writer.open_run(run_open(introduction, argv, folder, environment, "rules/1"))
    ticket.result()
    writer.close()
    with Reader.open(place.store, place.keys) as reader:
        yield reader, run


def test_a_command_comes_back_byte_for_byte(tmp_path: Path) -> None:
    argv = ["python", "agent.py", "--prompt", "v2\n", "caf\udce9", "x" * 200_000]
    with opened(folders(tmp_path), argv, {}, Path("/some where")) as (reader, run):
        revived = revival(reader, reader.run(run), [], {"PATH": "/bin"})
    assert list(revived.argv) == argv
    assert revived.folder == Path("/some where")
    assert revived.environment == {"PATH": "/bin"}


def test_no_secret_of_the_environment_is_kept(tmp_path: Path) -> None:
    place = folders(tmp_path)
    environment = {"OPENAI_API_KEY": SECRET, "HOME": "/h"}
    with opened(place, ["agent", SECRET], environment, Path(f"/{SECRET}")) as (reader, run):
        known = recorded(reader, run)
    assert known.is_redacted
    assert known.credential_names == ("OPENAI_API_KEY",)
    stored = b"".join(path.read_bytes() for path in place.store.rglob("*") if path.is_file())
    assert SECRET.encode() not in stored


def test_a_command_that_held_a_secret_is_not_run_again_as_it_stands(tmp_path: Path) -> None:
    with opened(folders(tmp_path), ["agent", "--api-key", SECRET], {}) as (reader, run):
        with pytest.raises(Misuse, match="held a secret") as refused:
            revival(reader, reader.run(run), [], {})
        assert "-- COMMAND" in refused.value.hint
        assert revival(reader, reader.run(run), ["agent", "again"], {}).argv == ("agent", "again")


def test_a_run_without_a_command_wants_one(tmp_path: Path) -> None:
    with opened(folders(tmp_path), [], {}) as (reader, run), pytest.raises(Misuse, match="without the command"):
        revival(reader, reader.run(run), [], {})


def test_credentials_that_are_not_set_any_more_get_stand_ins(tmp_path: Path) -> None:
    environment = {"OPENAI_API_KEY": SECRET, "OTHER_TOKEN": SECRET}
    with opened(folders(tmp_path), ["agent"], environment) as (reader, run):
        revived = revival(reader, reader.run(run), [], {"OTHER_TOKEN": "mine"})
    assert revived.environment == {"OPENAI_API_KEY": stand_in("OPENAI_API_KEY"), "OTHER_TOKEN": "mine"}


def test_labels_and_name_are_kept(tmp_path: Path) -> None:
    with opened(folders(tmp_path), ["agent"], {}) as (reader, run):
        facts = reader.event(run, 0).facts
    assert isinstance(facts, RunOpen)
    assert (facts.name, facts.labels, facts.workflow) == ("it", [["team", "risk"]], None)


def test_an_outer_run_of_the_same_store_is_the_parent(tmp_path: Path) -> None:
    place = folders(tmp_path)
    outer = record_tape(place, close=False)
    parent = parent_in(place.store, place.keys, {RUN_VARIABLE: outer})
    assert parent is not None
    with Reader.open(place.store, place.keys) as reader:
        assert parent.event_hash == reader.event_hash(outer, parent.seq).hex()
    assert parent_in(place.store, place.keys, {RUN_VARIABLE: "somebody-elses"}) is None
    assert parent_in(tmp_path / "none", place.keys, {RUN_VARIABLE: outer}) is None
    assert parent_in(place.store, place.keys, {}) is None
