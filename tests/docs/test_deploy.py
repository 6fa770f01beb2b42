"""The examples in deploy/: well formed, with options, settings and paths that exist."""

import configparser
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from proxy.cli import group
from proxy.commands.proxy import command
from proxy.service.file import completed_from
from proxy.stores.policy import parsed
from tests.docs.test_commands import why_wrong
from tests.layout.tree import ROOT

DEPLOY = ROOT / "deploy"
COMPOSE, SIDECAR = DEPLOY / "docker" / "compose.yaml", DEPLOY / "kubernetes" / "sidecar.yaml"
SETTINGS = DEPLOY / "edgetape.toml"
CALL = re.compile(r"(?:^|&& exec |&& |/)edgetape (.*?)(?= >| &&|$)")
INSTRUCTIONS = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL", "ENTRYPOINT", "CMD"}


def pod() -> dict[str, Any]:
    """The example's pod."""
    documents = list(yaml.safe_load_all(SIDECAR.read_text()))
    assert [one["kind"] for one in documents] == ["ConfigMap", "PersistentVolumeClaim", "Pod"]
    spec: dict[str, Any] = documents[2]["spec"]
    return spec


def dockerfile() -> list[str]:
    """Its instructions, each in one line."""
    lines = (DEPLOY / "docker" / "Dockerfile").read_text().replace("\\\n", "").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def unit() -> configparser.RawConfigParser:
    """The systemd unit; a member that is there several times has its last value."""
    parser = configparser.RawConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string((DEPLOY / "systemd" / "edgetape.service").read_text())
    return parser


def calls() -> Iterator[str]:
    """The words after `edgetape` of every command in an example."""
    lines = [unit()["Service"]["ExecStart"], *pod()["initContainers"][0]["args"]]
    lines += yaml.safe_load(COMPOSE.read_text())["services"]["edgetape"]["command"]
    yield from (found for line in lines for found in CALL.findall(line))
    (words,) = [line for line in dockerfile() if line.startswith("CMD ")]
    yield " ".join(yaml.safe_load(words.removeprefix("CMD ")))


def test_every_command_has_options_that_exist() -> None:
    found = list(calls())
    assert len(found) == 6
    assert {line: wrong for line in found if (wrong := why_wrong(group, shlex.split(line)))} == {}


@pytest.mark.parametrize(
    "text", [SETTINGS.read_text(), next(yaml.safe_load_all(SIDECAR.read_text()))["data"]["edgetape.toml"]]
)
def test_every_setting_exists_also_those_that_are_commented_out(text: str) -> None:
    said = tomllib.loads(re.sub(r"(?m)^# (?=[a-z-]+ = )", "", text))
    said["proxy"].pop("tokens", None)  # a file that is there only where it is used
    with command.make_context("proxy", []) as context:
        now = completed_from(context, context.params, said["proxy"], SETTINGS)
    assert now["log_format"] == "json"
    parsed(said.get("retention", {}))


def test_the_agent_sees_neither_key_nor_store() -> None:
    agent = pod()["containers"][0]
    assert agent["volumeMounts"] == [{"name": "clients", "mountPath": "/clients", "readOnly": True}]
    compose = yaml.safe_load(COMPOSE.read_text())["services"]
    assert [mount.split("#")[0].strip() for mount in compose["agent"]["volumes"]] == ["clients:/clients:ro"]
    assert compose["agent"]["network_mode"] == "service:edgetape"


def test_the_sidecar_is_asked_where_it_answers() -> None:
    (sidecar,) = pod()["initContainers"]
    assert sidecar["restartPolicy"] == "Always"
    probes = [sidecar[name]["httpGet"] for name in ("startupProbe", "readinessProbe", "livenessProbe")]
    assert [probe["path"] for probe in probes] == ["/readyz", "/readyz", "/healthz"]
    volumes = {volume["name"] for volume in pod()["volumes"]}
    assert {mount["name"] for mount in sidecar["volumeMounts"]} == volumes


def test_the_image_is_built_of_instructions_and_files_that_exist() -> None:
    assert {line.split()[0] for line in dockerfile()} <= INSTRUCTIONS
    assert (ROOT / "requirements" / "runtime.lock").is_file()
    assert "USER edgetape" in dockerfile()


def test_neither_environment_nor_history_goes_into_the_image() -> None:
    ignored = (DEPLOY / "docker" / "Dockerfile.dockerignore").read_text().splitlines()
    assert {".git", ".venv", "**/__pycache__"} <= set(ignored)


def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    here = tmp_path / "edgetape.service"
    told = (DEPLOY / "systemd" / "edgetape.service").read_text()
    here.write_text(told.replace("/usr/bin/edgetape", sys.executable))
    done = subprocess.run([program, "verify", str(here)], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_unit_reads_settings_anew_and_gives_it_time_to_end() -> None:
    service = unit()["Service"]
    assert service["ExecReload"].endswith("-HUP $MAINPID")
    said = tomllib.loads(SETTINGS.read_text())["proxy"]
    assert int(service["TimeoutStopSec"]) > int(said["drain"])
    variables = {row.envvar for row in group.params if isinstance(row, click.Option)}
    named = re.findall(r"(?m)^Environment=(\w+)=", (DEPLOY / "systemd" / "edgetape.service").read_text())
    assert set(named) <= variables
    assert len(named) == 3
