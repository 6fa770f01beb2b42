"""How near two requests are that are not the same: which recorded one a changed request most likely was.

Beyond DISTANCE_MAX nothing is near: another answer is worse than none.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from replay_server.conversation import Conversation
from store.core.compare import distance, leaves
from store.core.form import Form
from store.core.jsontext import Node

DISTANCE_MAX = 0.5
CANDIDATES_MAX = 256


def operation(body: Node) -> str:
    """What a JSON-RPC request asks for (method and tool name): another operation is never the same request changed."""
    if not isinstance(body, dict) or "jsonrpc" not in body:
        return ""
    parameters = body.get("params")
    tool = parameters.get("name") if isinstance(parameters, dict) else None
    return f"{body.get('method')} {tool}" if isinstance(tool, str) else str(body.get("method"))


def nearest_conversation(live: Conversation, candidates: Mapping[int, Conversation]) -> int | None:
    """The longest common prefix of messages decides; then the frame, the messages in common, the length, the place."""
    best: tuple[tuple[int, int, int, int, int], int] | None = None
    counted = Counter(live.messages)
    for index, said in candidates.items():
        common = sum((counted & Counter(said.messages)).values())
        names = live.frame.keys() | said.frame.keys()
        alike = sum(live.frame.get(name) == said.frame.get(name) for name in names)
        if 1 - (alike + common) / max(1, len(names) + len(live.messages)) > DISTANCE_MAX:
            continue
        rank = -live.common_prefix(said), -alike, -common, abs(len(live.messages) - len(said.messages)), index
        if best is None or rank < best[0]:
            best = rank, index
    return best[1] if best else None


def nearest_form(live: Form, candidates: Iterator[int], form: Callable[[int], Form]) -> int | None:
    """The structurally nearest of the first CANDIDATES_MAX."""
    found: tuple[float, int] | None = None
    for _, index in zip(range(CANDIDATES_MAX), candidates, strict=False):
        far = _distance(form(index).document, live.document)
        if far <= DISTANCE_MAX and (found is None or far < found[0]):
            found = far, index
    return found[1] if found else None


def _distance(recorded: dict[str, Node], live: dict[str, Node]) -> float:
    """The structural distance of two requests to one endpoint, which itself counts as one thing in common."""
    size = max(leaves(recorded), leaves(live), 1)
    return distance(recorded, live) * size / (size + 1)
