"""The variables that point a client at the port that stands for its server."""

import pytest

from proxy.agent.bases import Say, base_variables, bases_in
from proxy.border import Misuse
from store.core.base import Base

OPENAI = Base("https", "api.openai.com", 443, 9001)


def test_the_variables_of_known_clients_are_set_with_their_path() -> None:
    found = base_variables({}, [OPENAI], Say("a run", "t/"))
    assert found["OPENAI_BASE_URL"] == "http://127.0.0.1:9001/~run/a%20run:t%2F/v1"
    assert base_variables({}, [OPENAI])["OPENAI_BASE_URL"] == "http://127.0.0.1:9001/v1"


def test_a_variable_that_names_the_server_keeps_its_path_and_one_that_names_another_is_left() -> None:
    user = {"OPENAI_BASE_URL": "https://gateway.example/openai/v1", "TEAM_URL": "https://api.openai.com", "MOTTO": "x"}
    assert base_variables(user, [OPENAI]) == {
        "OPENAI_API_BASE": "http://127.0.0.1:9001/v1",
        "TEAM_URL": "http://127.0.0.1:9001",
    }
    gateway = Base("https", "gateway.example", 443, 9002)
    assert base_variables(user, [gateway]) == {"OPENAI_BASE_URL": "http://127.0.0.1:9002/openai/v1"}


def test_a_port_of_one_run_needs_nothing_in_the_path() -> None:
    assert base_variables({}, [Base("https", "api.groq.com", 443, 9003, "nightly")], Say("x", "t")) == {
        "GROQ_BASE_URL": "http://127.0.0.1:9003"
    }


def test_each_port_stands_for_one_server() -> None:
    assert bases_in(["https://api.openai.com@9001", "https://a", "https://b"])[0] == OPENAI
    for wrong in (["https://h/v1@9001"], ["https://a@9001", "https://b@9001"]):
        with pytest.raises(Misuse) as caught:
            bases_in(wrong)
        assert "--reverse" in (caught.value.hint or "")
