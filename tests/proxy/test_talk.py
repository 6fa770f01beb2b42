"""What is said to people drives no terminal, whoever named the run that it speaks of."""

import pytest

from proxy.talk import Talk


def test_what_is_said_has_its_control_characters_spelled_out(capsys: pytest.CaptureFixture[str]) -> None:
    talk = Talk(1, color=True)
    for say in (talk.say, talk.detail, talk.warn, talk.error):
        say("1 of 2 passed: ni\x1b[31mght\x07ly\nand a second line")
    told = capsys.readouterr().err
    assert told.count("ni\\x1b[31mght\\x07ly\nand a second line") == 4
    assert "\x07" not in told
