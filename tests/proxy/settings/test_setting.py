"""Values that no setting can have are refused before anything is done with them."""

import click
import pytest

from proxy.settings.setting import JOBS, LONG, SECONDS, STORE, Seconds


@pytest.mark.parametrize("kind", [SECONDS, LONG])
@pytest.mark.parametrize("text", ["nan", "inf", "1e400", "-1", "soon"])
def test_what_cannot_be_waited_for_is_no_number_of_seconds(kind: Seconds, text: str) -> None:
    with pytest.raises(click.BadParameter):
        kind.convert(text, None, None)
    assert kind.convert("2.5", None, None) == 2.5


def test_more_processes_than_can_be_started_are_refused() -> None:
    with pytest.raises(click.BadParameter):
        JOBS.convert(99_999_999, None, None)


@pytest.mark.parametrize("url", ["mysql://me:geheim@db.test/tapes", "sqlite:///x?key=geheim", "S3://geheim"])
def test_a_url_that_is_no_store_is_no_folder_either_and_is_not_quoted(url: str) -> None:
    with pytest.raises(click.BadParameter) as caught:
        STORE.convert(url, None, None)
    assert "geheim" not in caught.value.message
    assert "PostgreSQL" in caught.value.message
