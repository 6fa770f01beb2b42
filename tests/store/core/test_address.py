"""URLs of stores: what they mean, and that a password in one is never kept or shown."""

from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store.core.address import BadAddress, is_url, parse

SECRETS = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF), min_size=6, max_size=20)


@settings(max_examples=20)
@given(SECRETS)
def test_a_password_is_told_apart(secret: str) -> None:
    spelled = quote(secret, safe="")
    for url in (
        f"postgresql://me:{spelled}@db.test:5433/tapes?sslmode=require",
        f"postgres://me@db.test:5433/tapes?password={spelled}&sslmode=require",
    ):
        known = parse(url)
        assert known.password == secret
        assert known.url == "postgresql://me@db.test:5433/tapes?sslmode=require"
        assert secret not in repr(known)


@given(SECRETS)
def test_a_url_that_cannot_be_read_is_not_quoted(secret: str) -> None:
    for url in (f"postgresql://me:{secret}/x@db.test/tapes", f"postgresql://me:{secret}@db.test:port/tapes"):
        said = ""
        try:
            said = parse(url).url
        except BadAddress as error:
            said = f"{error} {error.hint}"
        assert secret not in said


@pytest.mark.parametrize("url", ["postgresql://", "postgresql://h", "postgresql://[::1/x", "postgresql://h:99999/x"])
def test_a_url_without_a_database_names_no_store(url: str) -> None:
    with pytest.raises(BadAddress):
        parse(url)


def test_a_server_is_near_when_it_is_reached_without_a_network() -> None:
    assert parse("postgresql:///tapes?host=/run/postgresql").is_near
    assert parse("postgresql:///tapes").is_near
    assert not parse("postgresql://127.0.0.1/tapes").is_near


def test_two_urls_of_one_store_name_the_same_place() -> None:
    assert (
        parse("postgresql://a@h/tapes").place == parse("postgres://b:c@h:5432/tapes").place == ("h", 5432, "tapes", "")
    )
    assert parse("postgresql://h/tapes?options=-csearch_path%3Dx").place != parse("postgresql://h/tapes").place


def test_a_folder_is_no_url() -> None:
    assert not is_url("/var/lib/tapes")
    assert not is_url("postgresql")
