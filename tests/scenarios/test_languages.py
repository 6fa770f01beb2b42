"""The control endpoint is asked from any language, and a replay gives each the same values again."""

import shutil
from pathlib import Path

import pytest

from tests.support.command import Command

URL = "http://edgetape.internal/v1/uuid"
ASK = {
    "curl": f"curl -sS {URL}",
    "python3": f"python3 -c \"import urllib.request as u; print(u.urlopen('{URL}').read().decode())\"",
    "node": f"node -e \"fetch('{URL}').then((answer) => answer.text()).then(console.log)\"",
    "go": "go run ask.go",
}
GO = f"""package main
import ("fmt"; "io"; "net/http")
func main() {{
	answer, err := http.Get("{URL}")
	if err != nil {{ panic(err) }}
	body, _ := io.ReadAll(answer.Body)
	fmt.Println(string(body))
}}
"""


@pytest.mark.soak
def test_each_language_gets_its_value_and_on_replay_the_same(tmp_path: Path) -> None:
    (tmp_path / "ask.go").write_text(GO)
    lines = [line for program, line in ASK.items() if shutil.which(program)]
    (tmp_path / "agent.sh").write_text("set -e\n" + "\necho\n".join(lines))
    command = Command(tmp_path, {"GOCACHE": str(tmp_path / "go")})
    recorded = command.run("record", "--", "sh", "agent.sh")
    assert recorded.code == 0, recorded.err
    values = recorded.out.split()
    assert len({value for value in values if "uuid" not in value}) == len(lines) > 0
    replayed = command.run("replay", "last")
    assert (replayed.code, replayed.out.split()) == (0, values), replayed.err
