"""Runs with canaries in every kind of body, erasing some of them, and what can be found of them then."""

from dataclasses import dataclass

from store.core.aead import KEY_BYTES
from store.erasure import Erasure
from store.reader import BodyUnavailable, Reader
from store.vault import RunKeys
from store.verify import verify
from tests.store.remains import contents, run_keys, spellings
from tests.support.tape import Call, Tape
from tests.support.verifier import verify as second

STAYS = b"what nobody asked to erase, said at some length; " * 20
CANARIES = {
    "body": b"CANARY-BODY-7431",
    "answer": b"CANARY-ANSWER-9915",
    "query": b"CANARY-QUERY-2207",
    "header": b"CANARY-HEADER-6048",
    "argv": b"CANARY-ARGV-1180",
    "note": b"CANARY-NOTE-3356",
}


def calls() -> list[Call]:
    """Three exchanges; what is in the second is nowhere else."""
    long = ((b"x-long", b"h" * 1100 + CANARIES["header"]),)
    return [
        Call(body=STAYS + b"1", answer=STAYS),
        Call(body=STAYS + CANARIES["body"], answer=CANARIES["answer"], query=b"q=" + CANARIES["query"], headers=long),
        Call(body=STAYS + b"3", answer=STAYS + b"!"),
    ]


def record(made: Tape, name: str = "", *, close: bool = True) -> str:
    run = made.open(name, argv=[b"agent", CANARIES["argv"]])
    for call in calls():
        made.answer(run, call, made.request(run, call))
    made.note(run, CANARIES["note"]).result(30)
    if close:
        made.writer.close_run(run, "agent_exit").result(30)
    return run


def erase(made: Tape, run: str, *seqs: int) -> None:
    made.writer.erase(Erasure(run, seqs or None, "operator", "a person asked for it")).result(60)
    made.writer.checkpoint().result(30)


@dataclass
class Left:
    """Who has the files of a store, its keys, and the keys of runs that he can still find."""

    made: Tape

    @property
    def live(self) -> list[RunKeys]:
        return run_keys(self.made.folder, self.made.keys, self.made.writer.origin)

    @property
    def keys(self) -> list[bytes]:
        """Every key of 32 bytes that is left: of the runs, of the store, and the one that signs."""
        own = [path.read_bytes()[-KEY_BYTES:] for path in self.made.keys.iterdir()]
        return [*own, *(key for each in self.live for key in (each.payload, each.veil.key))]

    def found(self) -> set[str]:
        """The canaries that are anywhere in the store."""
        everything = list(contents(self.made.folder, self.keys, self.live))
        return {
            name
            for name, canary in CANARIES.items()
            if any(spelled in content for spelled in spellings(canary) for content in everything)
        }


def found(made: Tape) -> set[str]:
    return Left(made).found()


def bodies(made: Tape, run: str) -> list[bytes | None]:
    """The bodies of requests and answers, None for those that are gone."""
    told: list[bytes | None] = []
    with Reader.open(made.folder, made.keys) as reader:
        for event in reader.events(run):
            if event.type in ("http.request", "http.response"):
                try:
                    told.append(reader.body(event, getattr(event.facts, "body", None)))
                except BodyUnavailable:
                    told.append(None)
    return told


def codes(made: Tape) -> list[list[tuple[str, int | None]]]:
    """What both verifiers find."""
    ours, theirs = verify(made.folder, made.keys).findings, second(made.folder, made.keys).findings
    return [[(each.code, each.seq) for each in ours], [(each.code, each.seq) for each in theirs]]
