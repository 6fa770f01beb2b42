"""What libraries and forgotten tasks say does not pass us by, nor past us."""

import asyncio
import io
import logging

import pytest

from proxy.loop import run
from proxy.settings import Color
from proxy.talk import Talk, colored


async def forgetful() -> str:
    asyncio.get_running_loop().create_task(fail())
    await asyncio.sleep(0.01)
    logging.getLogger("some.library").warning("odd: %s", "thing")
    return "done"


async def fail() -> None:
    raise RuntimeError("in the background")


def test_a_forgotten_task_is_told_in_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(Talk(), forgetful()) == "done"
    err = capsys.readouterr().err
    assert "unforeseen: RuntimeError: in the background" in err
    assert "Traceback" not in err
    assert "odd: thing" not in err


def test_the_curious_hear_what_libraries_log(capsys: pytest.CaptureFixture[str]) -> None:
    run(Talk(loudness=1), forgetful())
    assert "some.library: odd: thing" in capsys.readouterr().err


@pytest.mark.parametrize(
    "choice, environment, colors",
    [
        ("always", {"NO_COLOR": "1"}, True),
        ("never", {"FORCE_COLOR": "1"}, False),
        ("auto", {}, False),
        ("auto", {"FORCE_COLOR": "1"}, True),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ],
)
def test_color_is_what_was_asked_for(choice: Color, environment: dict[str, str], colors: bool) -> None:
    assert colored(choice, io.StringIO(), environment) is colors
