"""The Job of --manifest: checked by Kubernetes' schemas, and its container's words run here as a pod would run them."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import msgspec
import pytest

from tests.system.journeys import ANYWHERE, LONG_S, PROGRAM, Place, committed, finished, kill, resumed, wait_until
from tests.system.staging import Staging, staging

pytestmark = pytest.mark.system

TINY = ("-s", "1", "-c", "2", "-j", "1", "-T", "1s", "--set", "load.warmup=0s", "--blocks", "1..1", "--seed", "3")
PAGE = Path(__file__).parents[2] / "docs/your-server.md"
LEVELS = ("compare", "work_mem=4MB", "work_mem=64MB")
VERSIONS = ("1.25.0", kubernetes_validate.latest_version())
"""Of Kubernetes: the oldest and the newest that the package has schemas of."""


@pytest.fixture(scope="module")
def server(postgres: None) -> Iterator[Staging]:
    with staging() as found:
        yield found


def objects_of(text: str) -> dict[str, dict[str, Any]]:
    """Each object of a manifest by its kind; all are what the API of each version takes, without a field too many."""
    found = [msgspec.yaml.decode(each) for each in text.split("\n---\n")]
    for each in found:
        for version in VERSIONS:
            assert kubernetes_validate.validate(each, version, strict=True) in version
        assert re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", each["metadata"]["name"])
    assert len({each["metadata"]["name"] for each in found}) == 1
    return {each["kind"]: each for each in found}


def printed(journey: Place, *words: str) -> str:
    done = journey.pgassay(*words, "--manifest")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_it_is_a_job_with_a_volume_that_it_goes_on_with_and_no_secret_in_it(journey: Place) -> None:
    script = journey.path / "orders.sql"
    script.write_text("SELECT \"n\"::text || '$(PATH): \\ é' FROM orders;\n")
    servers = ("--server", "A=host=old dbname=app", "--server", "B=host=new1 dbname=app")
    command = ("compare", *servers, "--i-own", "-f", f"{script}", "--set", "init.copy_database=x")
    text = printed(journey, *command, "--companion", "application_name=$(NAME)")
    found = objects_of(text)
    assert found.keys() == {"PersistentVolumeClaim", "ConfigMap", "Job"}
    assert found["ConfigMap"]["data"] == {"orders.sql": script.read_text()}
    pod = found["Job"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["restartPolicy"] == "Never"
    assert {each["name"] for each in pod["volumes"]} == {each["name"] for each in container["volumeMounts"]}
    (kept,) = [each["persistentVolumeClaim"] for each in pod["volumes"] if "persistentVolumeClaim" in each]
    assert kept["claimName"] == found["PersistentVolumeClaim"]["metadata"]["name"]
    keys = {each["valueFrom"]["secretKeyRef"]["key"] for each in container["env"] if "valueFrom" in each}
    assert keys == {"dsn-A", "dsn-B"}
    assert "'--from-literal=dsn-A=host=old dbname=app'" in text
    assert container["args"][:3] == ["compare", "--server=A=$(DSN_A)", "--server=B=$(DSN_B)"]
    assert container["args"][container["args"].index("-f") + 1] == "/study/orders.sql"
    assert container["args"][-1] == "application_name=$$(NAME)", "Kubernetes replaces no other name"
    assert {"requests", "limits"} == container["resources"].keys()


@pytest.mark.parametrize("kind", ["CloudNativePG", "StatefulSet"])
def test_the_examples_of_the_manual_are_what_kubernetes_takes(journey: Place, kind: str) -> None:
    section = PAGE.read_text(encoding="utf-8").partition("### In Kubernetes")[2]
    (line,) = re.findall(rf"^pgassay (.*) --manifest > job\.yaml +# {kind}$", section, re.MULTILINE)
    words = shlex.split(line)
    found = objects_of(text := printed(journey, *words))
    assert found.keys() == {"PersistentVolumeClaim", "Job"}
    assert f"'--from-literal=dsn={words[words.index('--server') + 1]}'" in text


def test_a_field_too_many_is_found(journey: Place) -> None:
    """The check can fail: also deep within an object."""
    text = printed(journey, *LEVELS, "--server", "host=x", "--i-own")
    with pytest.raises(kubernetes_validate.ValidationError, match="'paths'"):
        objects_of(text.replace('mountPath: "/runs"', 'paths: "/runs"', 1))
    with pytest.raises(kubernetes_validate.ValidationError, match="is not of type 'integer'"):
        objects_of(text.replace("backoffLimit: 3", 'backoffLimit: "3"'))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--server", "host=x", "--i-own", "--init", "dump.bin"), 'dump.bin" is not text, and a ConfigMap takes text'),
        (("--server", "host=x", "--i-own", "--init", "large.sql"), "of more than 1 MiB along: large.sql"),
        (("--server", "host=x", "--i-own", "-f", "a b.sql"), 'a b.sql" along'),
        (("--server", "host=x", "--i-own", "-fa.sql"), "what no word of the command names: "),
        ((), "--manifest needs --server"),
        (("--server", "host=x"), "--manifest needs --server"),
        (("--server", "host=x password=y", "--i-own"), "--server holds a password"),
        (("--server", "host=x", "--i-own", "--restart-command", "true"), "--manifest and --restart-command"),
        (("--server", "host=x", "--i-own", "--dry-run"), "--manifest and --dry-run"),
    ],
)
def test_what_cannot_run_there_is_refused(journey: Place, more: tuple[str, ...], said: str) -> None:
    (journey.path / "dump.bin").write_bytes(b"PGDMP\x01\x0f\xff")
    (journey.path / "large.sql").write_text("SELECT 1;\n" * 110_000)
    for name in ("a b.sql", "a.sql"):
        (journey.path / name).write_text("SELECT 1;\n")
    done = journey.pgassay(*LEVELS, *more, "--manifest")
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_files_are_taken_along_however_words_name_them(journey: Place) -> None:
    for name in ("a.sql", "b.sql", "init.sql"):
        (journey.path / name).write_text(f"SELECT '{name}';\n")
    more = ("--server", "host=x", "--i-own", "--init=init.sql", "--set", f"load.script=a.sql@3,{journey.path}/b.sql")
    found = objects_of(printed(journey, *LEVELS, *more))
    assert sorted(found["ConfigMap"]["data"]) == ["a.sql", "b.sql", "init.sql"]
    (container,) = found["Job"]["spec"]["template"]["spec"]["containers"]
    assert container["args"][-3:] == ["--init=/study/init.sql", "--set", "load.script=/study/a.sql@3,/study/b.sql"]


def test_files_that_only_a_study_file_names_are_refused(journey: Place) -> None:
    """Its text is taken as it is, so they have to be named by words that win."""
    (journey.path / "a.sql").write_text("SELECT 1;\n")
    study = journey.path / "mine.toml"
    study.write_text(
        '[study]\nformat = 1\ntitle = "Mine"\nquestion = "Which?"\n[factors]\n"server.work_mem" = ["4MB", "64MB"]\n'
        '[load]\ndriver = "pgbench"\nscale = "1"\nclients = "1"\nduration = "1s"\nscript = "a.sql"\n'
        '[responses]\nprimary = "tps"\n[design]\nresolution = "5%"\nblocks = { min = 1, max = 2 }\n'
    )
    more = ("--server", "host=x", "--i-own")
    done = journey.pgassay("run", "mine.toml", *more, "--manifest")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"what no word of the command names: {journey.path / 'a.sql'}" in done.stderr
    found = objects_of(printed(journey, "run", "mine.toml", "--set", "load.script=a.sql", *more))
    assert found["ConfigMap"]["data"] == {"a.sql": "SELECT 1;\n", "mine.toml": study.read_text()}


def test_another_question_has_another_volume_and_the_same_one_goes_on(journey: Place) -> None:
    def place_of(*words: str) -> tuple[str, str]:
        found = objects_of(printed(journey, *words, "--i-own", "--trust", "-f", "a.sql"))
        (container,) = found["Job"]["spec"]["template"]["spec"]["containers"]
        assert '"$0" --i-own --trust;' in container["command"][2]
        return found["Job"]["metadata"]["name"], container["command"][3]

    script = journey.path / "a.sql"
    script.write_text("SELECT 1;\n")
    first = place_of(*LEVELS, "--server", "host=x")
    assert place_of(*LEVELS, "--server", "host=x") == first
    others = [place_of(*LEVELS, "work_mem=1GB", "--server", "host=x"), place_of(*LEVELS, "--server", "host=y")]
    script.write_text("SELECT 2;\n")
    others.append(place_of(*LEVELS, "--server", "host=x"))
    for kind in range(2):
        assert len({each[kind] for each in (first, *others)}) == 4


@pytest.mark.slow
@pytest.mark.timeout(LONG_S)
def test_its_container_runs_the_command_and_another_pod_goes_on_with_it(journey: Place, server: Staging) -> None:
    """Its folders are below one of ours, and Kubernetes' part, the names of variables, is done here."""
    words = (*LEVELS, *TINY, *ANYWHERE, "--server", server.dsn(), "--i-own", "--out", "a")
    pod = objects_of(printed(journey, *words))["Job"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    bin_ = journey.path / "bin"
    for each in (bin_, *(journey.path / name for name in ("secret", "private", "runs"))):
        each.mkdir(exist_ok=True)
    (bin_ / "pgassay").write_text(f"#!/bin/sh\nexec {sys.executable} -c '{PROGRAM[2]}' \"$@\"\n")
    (bin_ / "pgassay").chmod(0o755)
    (journey.path / "secret" / "pgpass").write_text("*:*:*:*:unused\n")
    secret = {"dsn": server.dsn()}
    variables = {
        each["name"]: each["value"] if "value" in each else secret[each["valueFrom"]["secretKeyRef"]["key"]]
        for each in container["env"]
    }

    def there(word: str) -> str:
        named = re.sub(r"\$\((\w+)\)", lambda name: variables[name[1]], word)
        return re.sub(r"/(runs|secret|private)\b", lambda found: f"{journey.path}{found[0]}", named)

    environment = {
        **os.environ, **{name: there(value) for name, value in variables.items() if name != "DSN"},
        "PATH": f"{bin_}:{os.environ['PATH']}", "TMPDIR": str(journey.temporary),
        "PGASSAY_DATA_DIR": str(journey.data),
    }  # fmt: skip

    def pod_of() -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [there(word) for word in (*container["command"], *container["args"])],
            cwd=journey.path,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    before = server.state()
    first = pod_of()
    wait_until(lambda: committed(journey.runs / "a") >= 1, first)
    kill(first)
    assert server.state() != before
    second = finished(pod_of(), LONG_S)
    run = journey.record("a")
    assert second.returncode in (0, 1), second.stderr
    assert {trial.levels["server.work_mem"].typed for trial in run.trials} == {"4MB", "64MB"}
    assert resumed(journey.runs / "a") == 1
    assert server.state() == before
    assert (journey.path / "private" / "pgpass").stat().st_mode & 0o077 == 0
    assert not list((journey.runs / "state").glob("attached-*.jsonl"))
