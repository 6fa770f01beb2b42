"""What a run came to."""

from pathlib import Path

from proxy.views.summary import Summary, summary
from store.exchange import steps
from store.reader import Reader
from tests.proxy.tape import folders, record_tape


def test_a_run_is_counted(tmp_path: Path) -> None:
    place = folders(tmp_path)
    run = record_tape(place)
    with Reader.open(place.store, place.keys) as reader:
        counted = summary(steps(reader.events(run)), reader)
    assert (counted.exchanges, counted.failed, counted.tunnels) == (3, 1, 1)
    assert counted.models == ("scripted-1",)
    assert counted.tools == ("rules",)
    assert counted.sentence.startswith("3 exchanges (1 failed); model scripted-1; tool rules; 1 tunnel; ")


def test_many_names_are_not_all_listed() -> None:
    counted = Summary(9, 0, 0, ("m",), tuple("abcdefg"), 34_000)
    assert counted.sentence == "9 exchanges; model m; tools a, b, c, d and 3 more; 34 KB"
