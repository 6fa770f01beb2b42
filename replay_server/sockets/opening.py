"""Opens the recorded WebSockets of one replay again."""

from dataclasses import dataclass, field, replace

from replay_server.answer import Live, Recorded
from replay_server.ledger import Ledger
from replay_server.route import named
from replay_server.sockets.dialogue import Dialogue, Setting
from replay_server.sockets.handshake import is_socket
from store.core.form import Form
from store.ticket import Ticket


@dataclass(slots=True)
class Sockets:
    """Those of one replay."""

    setting: Setting
    _dialogues: list[Dialogue] = field(default_factory=list)

    def open(
        self, index: int, recorded: Recorded, form: Form, live: Live, ticket: Ticket, ledger: Ledger, *, expected: bool
    ) -> Dialogue | str:
        """What follows a recorded answer of 101, or why nothing can."""
        setting = replace(self.setting, ledger=ledger)
        step = setting.tape.step(index)
        if not is_socket(recorded):
            return f"step {step} switched to a protocol that is not replayed"
        if not live.opens_socket:
            return f"step {step} became a WebSocket, and this request asks for none"
        served, kept = setting.standins.reveal(recorded)
        opening = setting.ledger.reply(ticket, served, live, kept, setting.tape.exchanges[index].response)
        dialogue = Dialogue(setting, index, form.endpoint, named(form), opening, served, ticket, expected)
        self._dialogues.append(dialogue)
        return dialogue

    def never_said(self) -> list[tuple[int, str]]:
        """What the agent said in the recording and not now: step, and what it is."""
        return [missing for dialogue in self._dialogues for missing in dialogue.never_said()]
