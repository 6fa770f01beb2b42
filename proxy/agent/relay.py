"""Passes the signals that we get on to the agent, each exactly once.

A key such as Ctrl-C sends its signal to every process of the terminal's foreground group, the agent included:
then we only note it. The same signal sent to us alone, by `kill` or a supervisor, is passed on. Signals that
were ignored when we were started (nohup) stay ignored, for us and for the agent.
"""

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType

from proxy.agent.terminal import Terminal

FROM_KEYS = frozenset({signal.SIGINT, signal.SIGQUIT})
PASSED_ON = (
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
# Left to the kernel: SIGTSTP, SIGCONT, SIGTTIN and SIGTTOU stop and wake the whole group, and SIGWINCH reaches
# the foreground group by itself.

Handler = Callable[[int, FrameType | None], object] | int | signal.Handlers | None


class SignalRelay:
    """While its `with` block lasts, our signals go to the agent; off the main thread it does nothing.

    `received` lists what came, in order, whether the agent got it from us or from the terminal.
    """

    def __init__(self, terminal: Terminal) -> None:
        self.received: list[signal.Signals] = []
        self._terminal = terminal
        self._send: Callable[[int], None] | None = None
        self._waiting: list[signal.Signals] = []
        self._before: dict[signal.Signals, Handler] = {}

    def __enter__(self) -> "SignalRelay":
        if threading.current_thread() is threading.main_thread():
            for number in PASSED_ON:
                if signal.getsignal(number) != signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def connect(self, send: Callable[[int], None]) -> None:
        """Names the agent's own `send`; what came before the agent was started is passed on now."""
        self._send = send
        while self._waiting:
            send(self._waiting.pop(0))

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        received = signal.Signals(number)
        self.received.append(received)
        if self._send is None:
            self._waiting.append(received)
        elif received not in FROM_KEYS or not self._terminal.is_foreground():
            self._send(received)
