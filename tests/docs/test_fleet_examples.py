"""The examples for fleets: they parse, every command of theirs is one, and the scripts start what they say.

What a cluster needs to run them is not here: Kubernetes' objects are read as YAML, ssh, scp, srun, dask and
hostname, which asks a resolver, are fakes.
"""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pgassay.cli import find_command
from pgassay.cli.parser import Parser

FLEET = Path(__file__).parents[2] / "examples" / "fleet"
OBJECTS: list[dict[str, Any]] = [
    msgspec.yaml.decode(text) for text in (FLEET / "kubernetes.yaml").read_text().split("\n---\n")
]
FAKES = ("pgassay", "dask", "ssh", "scp", "srun", "hostname")
FAKE = """\
#!/bin/sh
printf '%s' "$(basename "$0")" >>"$SAID.$$"
for word; do printf '\\t%s' "$word" >>"$SAID.$$"; done
echo >>"$SAID.$$"
cat "$SAID.$$" >>"$SAID"
rm "$SAID.$$"
case "$(basename "$0") $1 $2" in
  "dask scheduler "*) exec sleep 3600 ;; "pgassay fleet certs") mkdir "$3" ;; "hostname -f ") echo node1.lab ;;
esac
"""


YAML_RULES = (
    "{extends: default, rules: {line-length: {max: 140}, document-start: disable, braces: {max-spaces-inside: 1}}}"
)
LINTERS = {
    "shellcheck": ["shellcheck", "--severity=style", *map(str, sorted(FLEET.glob("*.sh")))],
    "yamllint": ["yamllint", "--strict", "-d", YAML_RULES, str(FLEET / "kubernetes.yaml")],
    "kubeconform": ["kubeconform", "-strict", str(FLEET / "kubernetes.yaml")],
}


@pytest.mark.parametrize("linter", LINTERS)
def test_their_own_linters_find_nothing(linter: str) -> None:
    if shutil.which(linter) is None:
        pytest.skip(f"{linter} is not installed")
    done = subprocess.run(LINTERS[linter], capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def parsed(words: list[str]) -> dict[str, Any]:
    """The options of a command of ours; fails where one is none."""
    assert words[0] == "pgassay"
    parser = Parser(f"pgassay {words[1]}", "")
    find_command(words[1])[0].add_arguments(parser)
    return vars(parser.parse_args(words[2:]))


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the fakes on PATH write what they were called with, a line each."""
    for name in FAKES:
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(FAKE)
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("SAID", str(tmp_path / "said"))
    return tmp_path / "said"


def executed(script: str, *words: str, folder: Path) -> int:
    """The status of a script, run in `folder`; what it starts beside itself has ended, too."""
    done = subprocess.run([str(FLEET / script), *words], cwd=folder, check=False, timeout=300, capture_output=True)
    return done.returncode


def calls(said: Path) -> list[list[str]]:
    """What the fakes were called with."""
    return [line.split("\t") for line in said.read_text().splitlines()]


def test_ssh_starts_a_worker_on_each_host_and_then_the_run(said: Path, tmp_path: Path) -> None:
    assert executed("ssh.sh", "lab0", "fillfactor", "lab1", "lab2", "lab3", folder=tmp_path) == 0
    found = calls(said)
    run = parsed(next(each for each in found if each[:2] == ["pgassay", "run"]))
    assert (run["study"], run["hosts"], run["on"]) == ("fillfactor", 3, "tls://lab0:8786")
    far = [each for each in found if each[0] == "ssh" and "worker" in each[2]]
    assert sorted(each[1] for each in far) == ["lab1", "lab2", "lab3"]
    for each in far:
        worker = parsed(shlex.split(each[2]))
        assert (worker["address"], worker["name"]) == ("tls://lab0:8786", each[1])
    sent = [each[2:] for each in found if each[0] == "scp"]
    assert all({Path(name).name for name in each[:-1]} == {"ca.pem", "worker.pem", "worker-key.pem"} for each in sent)
    assert len(sent) == 3
    assert executed("ssh.sh", "lab0", "fillfactor", "lab1", folder=tmp_path) == 2, "one host is no fleet"


def test_slurm_starts_a_worker_on_each_node(said: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "4")
    monkeypatch.delenv("SCRATCH", raising=False)
    assert executed("slurm.sh", "fillfactor", folder=tmp_path) == 0
    found = calls(said)
    run = parsed(next(each for each in found if each[:2] == ["pgassay", "run"]))
    assert (run["hosts"], str(run["out"])) == (4, "runs/fillfactor-7")
    (started,) = [each for each in found if each[0] == "srun"]
    worker = parsed(started[started.index("pgassay") :])
    assert run["on"] == "tls://node1.lab:8786"
    assert (worker["address"], str(worker["data_dir"])) == (run["on"], "/tmp/pgassay-7")
    assert not (tmp_path / "certs-7").exists(), "the keys go with the job"
    assert executed("slurm.sh", folder=tmp_path) != 0


def containers() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every container with the name of its object."""
    for each in OBJECTS:
        pod = each["spec"].get("template", {}).get("spec", {})
        yield from (
            (each["metadata"]["name"], one) for one in (*pod.get("initContainers", ()), *pod.get("containers", ()))
        )


def test_kubernetes_has_a_scheduler_and_a_worker_a_node() -> None:
    assert [each["kind"] for each in OBJECTS] == ["Service", "Deployment", "StatefulSet"]
    service, head, worker = OBJECTS
    for each in (head, worker):
        assert each["spec"]["selector"]["matchLabels"] == each["spec"]["template"]["metadata"]["labels"]
        pod = each["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"], "PostgreSQL refuses root"
        volumes = {one["name"] for one in pod["volumes"]}
        mounted = {one["name"] for _, box in containers() for one in box["volumeMounts"]}
        assert mounted <= volumes
    assert service["spec"]["selector"] == head["spec"]["selector"]["matchLabels"]
    apart = worker["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"]
    (rule,) = apart["requiredDuringSchedulingIgnoredDuringExecution"]
    assert rule["topologyKey"] == "kubernetes.io/hostname"
    named = {name: box for name, box in containers() if box["name"] == "worker"}
    started = parsed([*named["pgassay-worker"]["command"], *named["pgassay-worker"]["args"]])
    host, port = re.fullmatch(r"tls://([\w-]+):(\d+)", started["address"]).groups()  # type: ignore[union-attr]
    assert (host, int(port)) == (service["metadata"]["name"], service["spec"]["ports"][0]["port"])


def test_what_its_comments_say_to_type_are_commands() -> None:
    comments = [line.lstrip("# ") for line in (FLEET / "kubernetes.yaml").read_text().splitlines() if line[:1] == "#"]
    certs = next(shlex.split(line) for line in comments if line.startswith("pgassay"))
    run = next(line for line in comments if " -- pgassay run" in line)
    assert "certs" in map(str, parsed(certs).values())
    told = parsed(shlex.split(run.partition(" -- ")[2]))
    assert told["hosts"] == next(each for each in OBJECTS if each["kind"] == "StatefulSet")["spec"]["replicas"]
    assert "EXTRAS=live,fleet" in " ".join(comments)
    assert "ARG EXTRAS" in (FLEET.parents[1] / "Containerfile").read_text()
