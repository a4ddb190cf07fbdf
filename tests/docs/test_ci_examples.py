"""The examples for other people's CI: they parse, every command of theirs is one, and they do what they say.

GitHub's and GitLab's own schemas are not here; what is asked of a file is what its service cannot do without.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from pgassay.cli import find_command
from pgassay.cli.parser import Parser

CI = Path(__file__).parents[2] / "examples" / "ci"


class Input(msgspec.Struct):
    """An input of an action."""

    description: str
    default: str = ""
    required: bool = False


class Step(msgspec.Struct, forbid_unknown_fields=True, rename={"condition": "if", "options": "with"}):
    """A step of an action or of a job."""

    name: str = ""
    shell: str = ""
    run: str = ""
    uses: str = ""
    condition: str = ""
    env: Mapping[str, str] = {}
    options: Mapping[str, str] = {}


class Runs(msgspec.Struct):
    """What an action does."""

    using: str
    steps: list[Step]


class Action(msgspec.Struct):
    """`action.yml`."""

    name: str
    description: str
    inputs: dict[str, Input]
    runs: Runs


class Job(msgspec.Struct):
    """A job of GitLab."""

    image: str
    variables: dict[str, str]
    script: list[str]


ACTION = msgspec.yaml.decode((CI / "github/action.yml").read_bytes(), type=Action)
WORKFLOW = msgspec.yaml.decode((CI / "github/workflow.yml").read_bytes())
JOB = msgspec.yaml.decode((CI / "gitlab/gitlab-ci.yml").read_bytes(), type=dict[str, Job])["pgassay"]
SCRIPTS = [step.run for step in ACTION.runs.steps if step.run]

FAKE = """\
import sys
from pathlib import Path
from pgassay.cli import find_command, main
from pgassay.cli.parser import Parser
from pgassay.testing.planted import make_run

if sys.argv[1] != "run":
    sys.exit(main())
parser = Parser("pgassay run", "")
find_command("run")[0].add_arguments(parser)
make_run(parser.parse_args(sys.argv[2:]).out)
"""
"""In place of pgassay: a run is planted, not measured; everything else is real."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A job's working directory, with a pgassay and a python3 whose pip installs nothing before all others."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (tmp_path / "fake.py").write_text(FAKE)
    for name, script in {
        "pgassay": f'exec {shlex.quote(sys.executable)} {shlex.quote(str(tmp_path / "fake.py"))} "$@"',
        "python3": f'echo "$@" >{shlex.quote(str(tmp_path / "installed"))}',
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return tmp_path


def executed(script: str, folder: Path, environment: Mapping[str, str]) -> int:
    """The status of a script as a service runs it: bash, ended by the first command that fails."""
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    done = subprocess.run(shell, cwd=folder, env={**os.environ, **environment}, check=False, timeout=600)
    return done.returncode


def given(step: Step, inputs: Mapping[str, str]) -> dict[str, str]:
    """A step's environment with the action's inputs."""
    return {
        name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: inputs[found[1]], text)
        for name, text in step.env.items()
    }


def test_no_input_is_written_into_a_script() -> None:
    assert [script for script in SCRIPTS if "${{" in script] == []
    assert all(step.shell == "bash" for step in ACTION.runs.steps if step.run)


def test_the_workflow_gives_the_action_what_it_asks_for() -> None:
    (job,) = WORKFLOW["jobs"].values()
    step = next(each for each in job["steps"] if each["uses"].startswith("./"))
    asked = {name for name, each in ACTION.inputs.items() if each.required}
    assert asked <= set(step["with"]) <= set(ACTION.inputs)
    assert step["uses"].removeprefix("./") in (CI / "github/action.yml").read_text()


@pytest.mark.parametrize("script", [*SCRIPTS, *JOB.script])
def test_every_option_is_one(script: str) -> None:
    for line in script.splitlines():
        words = [word for word in shlex.split(line) if word not in ("${weigh[@]}", "${options[@]}")]
        if words and words[0] == "pgassay":
            parser = Parser(f"pgassay {words[1]}", "")
            find_command(words[1])[0].add_arguments(parser)
            parser.parse_args(words[2:])
    options = Parser("pgassay run", "")
    find_command("run")[0].add_arguments(options)
    options.parse_args(
        [str(WORKFLOW["jobs"]["wal"]["steps"][1]["with"]["study"]), *ACTION.inputs["options"].default.split()]
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("threshold", "status"), [("", 2), ("wal_bytes_per_transaction < +5 %", 0), ("space < +30 %", 1)]
)
def test_the_action_does_what_it_says(
    folder: Path, threshold: str, status: int, capfd: pytest.CaptureFixture[str]
) -> None:
    inputs = {name: each.default for name, each in ACTION.inputs.items()}
    inputs |= {"study": "fillfactor-costs", "threshold": threshold}
    found = [executed(step.run, folder, given(step, inputs)) for step in ACTION.runs.steps if step.run]
    assert found == [0, 0, status]
    assert (folder / "installed").read_text() == f"-m pip install {inputs['package']}\n"
    assert (folder / "pgassay-run/run.json").exists()
    assert ("Thresholds" in capfd.readouterr().out) == bool(threshold)


@pytest.mark.slow
@pytest.mark.parametrize(("threshold", "status"), [(JOB.variables["THRESHOLD"], 0), ("space < +30 %", 1)])
def test_the_job_does_what_it_says(
    folder: Path, threshold: str, status: int, capfd: pytest.CaptureFixture[str]
) -> None:
    environment = {**JOB.variables, "THRESHOLD": threshold}
    found = [executed(line, folder, environment) for line in JOB.script]
    assert found == [0, 0, 0, status]
    assert (folder / "pgassay-run/report/report.html").exists(), "the page is kept with the record"
    assert "Thresholds" in capfd.readouterr().out
