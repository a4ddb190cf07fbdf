"""A question about builds of one's own, from the command to the answer: a plan builds nothing, a run takes both."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from pgassay.cli import main
from pgassay.cli.postgres import builder
from pgassay.errors import PgassayError
from pgassay.lab.places import Building
from pgassay.postgres.builds.builder import FOUND_BY
from pgassay.postgres.builds.recipe import parse_spec
from pgassay.record.reading import Run
from pgassay.report.findings import Findings
from pgassay.study.responses import Status
from pgassay.testing import real
from tests import machine
from tests.capture.test_real_versions import SCHEMA, SHORT
from tests.postgres.builds.fake_source import make_tree

pytestmark = pytest.mark.system

BUSY = ("--allow-busy", "--allow-volatile")


@pytest.fixture(scope="module")
def asked() -> Iterator[tuple[Path, tuple[str, ...]]]:
    """A capture of a small server, and the words for scripts and places of a question to it."""
    with machine.own_folder() as folder:
        path = folder / "small.capture"
        with real.server() as (server, _):
            with psycopg.connect(server.endpoint.conninfo(), autocommit=True) as connection:
                connection.execute(SCHEMA)
            assert main(["capture", server.endpoint.conninfo(), "--without-load", "--out", str(path)]) == 0
        script = folder / "lookup.sql"
        script.write_text("\\set id random(1, 10000)\nSELECT total FROM orders WHERE id = :id;\n")
        yield path, ("--set", f"load.script={script}", "--data-dir", str(folder / "data"))


def repository(folder: Path) -> Path:
    """A checkout in the shape of PostgreSQL's with the tags `main` and `patch`."""
    tree = make_tree(folder)

    def git(*words: str) -> None:
        command = ["git", "-C", str(tree), "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
        subprocess.run(command, check=True, capture_output=True)

    git("init", "-q")
    for tag in ("main", "patch"):
        (tree / "src" / "backend" / "main.c").write_text(f"int {tag};\n")
        git("add", "-f", ".")
        git("commit", "-q", "-m", tag)
        git("tag", tag)
    return tree


def test_a_plan_sets_two_commits_beside_each_other_and_builds_nothing(
    asked: tuple[Path, tuple[str, ...]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, words = asked
    tree = repository(tmp_path)
    builds = [f"--build=git:{tree}@{tag}" for tag in ("main", "patch")]
    status = main(["ask", str(path), *builds, *words, *BUSY, "--dry-run"])
    said = capsys.readouterr()
    assert status == 0, said.err
    assert f"build.source=git:{tree}@main" in said.out
    assert f"build.source=git:{tree}@patch" in said.out
    assert not (tmp_path / "count").exists(), "nothing was configured"


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_build_is_compared_with_one_of_the_servers_version_made_alike(
    asked: tuple[Path, tuple[str, ...]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The distribution's source on both sides, without optimisation: one build, which other tests have, too."""
    ours = builder(Building())
    try:
        source = ours.sources.identify(parse_spec("distribution"), "")
        ours.toolchain.require(ours.sources.unpack(source, tmp_path / "source"))
    except PgassayError as error:
        pytest.skip(f"no PostgreSQL can be built here: {error.message}")
    path, words = asked
    out = path.parent / "run"
    build = ("--build", "distribution", "--set", "build.cflags=-O0")
    status = main(["ask", str(path), *build, *words, *SHORT, "--blocks", "2..2", "--out", str(out)])
    assert status == 0, capsys.readouterr().err
    run = Run.open(out)
    (verdict,) = Findings(run).verdicts
    assert verdict.effect.treatment == "build.source=distribution"
    assert {name for trial in run.trials for name in trial.levels} >= {"build.version", "build.source", "build.cflags"}
    assert {each["found_by"] for each in run.host["postgres"]} == {FOUND_BY}
    assert {trial.status for trial in run.trials} == {Status.VALID}
