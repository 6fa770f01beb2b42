"""What a recording holds no more is served as stand-ins, which are known when they come back."""

import json
from dataclasses import replace

from replay_server.answer import Live, Recorded, build
from replay_server.normalise import Rules, told
from replay_server.pairing import Pairing
from replay_server.standins import StandIns
from store.core.chunks import Chunk
from store.core.form import Asked, Endpoint, Form, Mark, normal, unmarked
from store.core.redact import Redactor
from store.core.redaction.standin import stand_in

BODY = b'{"access_token": "<edgetape:oauth:1>", "refresh_token": "<edgetape:oauth:2>", "again": "<edgetape:oauth:1>"}'
ANSWER = Recorded(
    status=200,
    reason=b"OK",
    headers=((b"Set-Cookie", b"sid=<edgetape:cookie:1>; Path=/"), (b"Content-Length", b"44")),
    framing="length",
    ended="complete",
    body=BODY,
    chunks=(Chunk(40, 7), Chunk(len(BODY) - 40, 9)),
    exact=False,
)


def asked(path: bytes, query: bytes = b"", body: bytes = b"", *headers: tuple[bytes, bytes]) -> Asked:
    return Asked(Endpoint("POST", "https", "api.example", 443, path), query, headers, body)


def recorded(path: bytes, query: bytes = b"", body: bytes = b"") -> Form:
    """The form of a request as a tape gives it."""
    place, marks = unmarked(path)
    return normal(Asked(Endpoint("POST", "https", "api.example", 443, place), query, (), body, marks))


def test_each_mark_becomes_its_stand_in_and_lengths_are_made_anew() -> None:
    made = StandIns("run", Redactor(), Pairing())
    served, kept = made.reveal(ANSWER)
    tokens = json.loads(served.body)
    assert tokens["access_token"] == tokens["again"] == stand_in("run", "oauth", 1).decode()
    assert tokens["refresh_token"] == stand_in("run", "oauth", 2).decode()
    assert served.headers[0][1] == b"sid=" + stand_in("run", "cookie", 1) + b"; Path=/"
    assert b"Content-Length: %d\r\n" % len(served.body) in build(served, Live("GET")).head
    assert sum(chunk.length for chunk in served.chunks) == len(served.body)
    assert kept.body == BODY
    assert made.reveal(ANSWER)[0] == served
    assert StandIns("run", Redactor(), Pairing()).reveal(ANSWER)[0] == served
    assert StandIns("other", Redactor(), Pairing()).reveal(ANSWER)[0] != served


def test_a_stand_in_that_comes_back_is_the_recorded_secret_and_another_is_not() -> None:
    redactor, secrets = Redactor(), Pairing[Mark]()
    served, _ = StandIns("run", redactor, secrets).reveal(ANSWER)
    tokens = json.loads(served.body)
    was = recorded(b"/x", b"access_token=<edgetape:oauth:1>", b'{"note": "it is <edgetape:oauth:1>"}')

    def now(token: str) -> Form:
        body = json.dumps({"note": f"it is {token}"}).encode()
        return normal(told(asked(b"/x", b"access_token=" + token.encode(), body), redactor).asked)

    right, wrong = now(tokens["access_token"]), now(tokens["refresh_token"])
    assert right.key == was.key == wrong.key
    assert secrets.fits(was.marks, right.marks)
    assert not secrets.fits(was.marks, wrong.marks)


def test_an_answer_that_quotes_the_key_quotes_the_one_of_today() -> None:
    redactor, secrets = Redactor(), Pairing[Mark]()
    made = StandIns("run", redactor, secrets)
    today = told(asked(b"/x", b"", b"", (b"X-Api-Key", b"todays-key-4711")), redactor)
    made.pair([(b"x-api-key", b"<edgetape:key:1>")], today.asked.headers)
    quoting = replace(ANSWER, body=b'{"error": "bad key <edgetape:key:1>"}', headers=())
    served, kept = made.reveal(quoting)
    assert served.body == b'{"error": "bad key todays-key-4711"}'
    assert kept.body == quoting.body


def test_an_exact_body_that_spells_a_mark_is_served_as_it_is() -> None:
    spelled = replace(ANSWER, body=b"docs say <edgetape:key:1>", headers=(), exact=True)
    assert StandIns("run", Redactor(), Pairing()).reveal(spelled)[0] is spelled


def test_another_key_in_a_query_or_a_path_matches() -> None:
    for path, query in ((b"/v1/models", b"key=%s"), (b"/bot%s/send", b""), (b"/x", b"q=1&x-amz-signature=%s")):
        forms = []
        for key in (
            b"1234567890:AAaB3dE6gH9jK2mN5pQ8sT1vW4yZ7xaB3dE6",
            b"9876543210:AAzY7wV4tS1rQ8pN5mK2jH9gE6dB3azY7wV",
        ):
            where = [each % key if b"%s" in each else each for each in (path, query)]
            forms.append(normal(told(asked(where[0], where[1]), Redactor()).asked))
        assert forms[0].key == forms[1].key
        assert forms[0].marks == forms[1].marks != ()


def test_two_keys_in_one_s_place_do_not_match() -> None:
    redactor, secrets = Redactor(), Pairing[Mark]()
    was = [recorded(b"/x", b"key=<edgetape:query:%d>" % number) for number in (1, 1)]
    now = [normal(told(asked(b"/x", b"key=key-number-%d" % number), redactor).asked) for number in (1, 2)]
    assert secrets.fits(was[0].marks, now[0].marks)
    secrets.learn(was[0].marks, now[0].marks)
    assert not secrets.fits(was[1].marks, now[1].marks)


def test_an_answer_that_quotes_a_header_of_no_known_kind_quotes_the_one_of_today() -> None:
    redactor, secrets = Redactor(), Pairing[Mark]()
    made = StandIns("run", redactor, secrets)
    header = (b"X-Window-Id", b"f3b1c2d4e5a6978812345abcde:0")
    today = told(asked(b"/x", b"", b"", (b"X-Other", b"0a1b2c3d4e5f6789aabbccdd"), header), redactor)
    recorded_headers = [(b"X-Window-Id", b"<edgetape:header:1>"), (b"X-Other", b"<edgetape:header:2>")]
    made.pair(recorded_headers, today.asked.headers)
    assert (
        made.reveal(replace(ANSWER, body=b"window <edgetape:header:1>", headers=()))[0].body == b"window " + header[1]
    )
    assert secrets.live((b"header", 1)) == (b"header", 2)
    assert secrets.live((b"header", 2)) is None, "what no answer quotes may differ by nature"


def test_a_secret_in_a_place_that_is_not_compared_is_no_drift() -> None:
    rules, secrets = Rules.of(["body /meta", "query trace"]), Pairing[Mark]()
    was = b'{"say": "<edgetape:key:1>", "meta": {"id": "<edgetape:key:2>", "again": "<edgetape:key:1>"}}'
    now = b'{"meta": {"id": "<edgetape:key:5>"}, "say": "<edgetape:key:4>"}'
    other = b'{"meta": {"id": "<edgetape:key:5>"}, "say": "<edgetape:key:5>"}'
    forms = [
        rules.normal(asked(b"/x", b"trace=<edgetape:query:%d>" % number, body)).form
        for number, body in ((1, was), (2, now), (3, other))
    ]
    assert forms[0].key == forms[1].key == forms[2].key
    assert [form.marks for form in forms] == [((b"key", 1),), ((b"key", 4),), ((b"key", 5),)]
    secrets.learn(forms[0].marks, forms[1].marks)
    assert not secrets.fits(forms[0].marks, forms[2].marks)
