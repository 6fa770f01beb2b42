"""Asks at the terminal what is to become of a held answer. The agent keeps stdin; this reads the terminal itself."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

from proxy.talk import Talk
from proxy.views.readable import readable
from proxy.words import count, folded, printable
from replay_server.answer import Recorded
from replay_server.injection import Edit, Injection, message_of
from replay_server.modes import NotAllowed
from replay_server.pause import Action, Held, Pause
from store.core.coding import content_encoding
from store.core.form import first
from store.labels import tree

TERMINAL = Path("/dev/tty")
SHOWN_CHARS_MAX = 400
_HELP = (
    "n next   c continue   q end the replay   s show all of it\n"
    "set /pointer=value   status 500   cut 100   respond FILE   then n or c"
)
_ACTIONS: dict[str, Action] = {"n": "next", "c": "continue", "q": "stop", "": "next"}


class NoTerminal(Exception):
    """There is no terminal to ask at."""


class Prompter:
    """Waits for answers to be held while a `with` block lasts. Raises NoTerminal."""

    def __init__(self, pause: Pause, talk: Talk) -> None:
        self._pause = pause
        self._talk = talk
        self._said = Injection()
        try:
            self._terminal = os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY)
        except OSError as error:
            raise NoTerminal from error

    def __enter__(self) -> "Prompter":
        self._pause.told = self._changed
        return self

    def __exit__(self, *_: object) -> None:
        self._pause.told = lambda: None
        asyncio.get_running_loop().remove_reader(self._terminal)
        os.close(self._terminal)

    def _changed(self) -> None:
        loop, held = asyncio.get_running_loop(), self._pause.held
        if held is None:
            loop.remove_reader(self._terminal)
            return
        self._said = Injection()
        for line in introduction(held):
            self._write(line + "\n")
        self._write(f"{_HELP}\n> ")
        loop.add_reader(self._terminal, self._read)

    def _read(self) -> None:
        line = os.read(self._terminal, 4096).decode("utf-8", "replace")
        word, _, rest = line.strip().partition(" ")
        held = self._pause.held
        if held is None:
            return
        try:
            if not line:  # the terminal has hung up: nobody will say anything more
                self._pause.say("continue", Injection())
            elif word in _ACTIONS and not rest:
                self._pause.say(_ACTIONS[word], self._said)
            elif word == "s":
                self._write("\n".join(whole(held.recorded)) + "\n> ")
            else:
                self._said = taken(self._said, word, rest.strip())
                self._said.apply(held.recorded)
                self._write(f"{self._said.words()}\n> ")
        except (NotAllowed, OSError) as error:
            hint = f" ({error.hint})" if isinstance(error, NotAllowed) and error.hint else ""
            self._write(f"{printable(str(error))}{printable(hint)}\n> ")

    def _write(self, text: str) -> None:
        os.write(self._terminal, text.encode("utf-8", "backslashreplace"))


def introduction(held: Held) -> Iterator[str]:
    """What the agent is about to get, in short."""
    answer = held.recorded
    yield f"step {held.step} waits: {printable(held.place, one_line=True)}"
    message = message_of(answer)
    text = tree.spell(message) if message is not None else _text(answer)
    status = "" if held.is_message else f"{answer.status}; "
    yield f"  {status}{folded(printable(text, one_line=True), SHOWN_CHARS_MAX)}"


def whole(answer: Recorded) -> Iterator[str]:
    """All of an answer."""
    yield str(answer.status)
    yield from (printable(f"  {name.decode('latin-1')}: {value.decode('latin-1')}") for name, value in answer.headers)
    lines = _text(answer).splitlines()
    yield from (f"  {line}" for line in lines)
    yield f"  ({count(len(answer.body), 'byte')})"


def taken(said: Injection, word: str, rest: str) -> Injection:
    """What was said so far, and one word more. Raises NotAllowed, OSError."""
    match word:
        case "set":
            return Injection(said.body, said.status, (*said.edits, Edit.parse(rest)), said.cut_after_bytes)
        case "status" if rest.isdecimal() and 200 <= int(rest) <= 599:
            return Injection(said.body, int(rest), said.edits, said.cut_after_bytes)
        case "cut" if rest.isdecimal():
            return Injection(said.body, said.status, said.edits, int(rest))
        case "respond" if rest:
            return Injection(Path(rest).read_bytes(), said.status, said.edits, said.cut_after_bytes)
    raise NotAllowed(f"what is {word[:40]!r}?", hint=_HELP.replace("\n", "; "))


def _text(answer: Recorded) -> str:
    media_type = first(answer.headers, b"content-type").decode("latin-1")
    return readable(answer.body, media_type, content_encoding(answer.headers)).text
