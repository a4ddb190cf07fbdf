"""Every `pgassay …` of README and docs works: it is run on planted records, or planned, or at least parsed.

What is only parsed is listed here with its reason; anything else that a page shows is run.
"""

import json
import os
import shutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from pgassay.cli import COMMANDS, main
from pgassay.testing import planted
from tests.docs.pages import Example, blocks, commands, parts, words
from tests.importing.made import hammerdb, pgbench
from tests.report import scaled

RUN = "runs/fillfactor-20260102T030405Z"
FIRST = "runs/first"
"""What docs/tutorial.md calls its run."""
STANDS_FOR = {
    "COMMAND": "run", "RUN": RUN, "STUDY": "fillfactor", "FILE": "results.csv", "DIR": "cluster", "NAME": "mine",
    "NAME=A": "server.work_mem=4MB", "NAME=B": "server.work_mem=64MB", "KIND": "csd", "SIZE": "20GB",
    "DSN": "dbname=app", "CONNINFO": "dbname=app", "CAPTURE": "app.capture", "NAME=A,B": "work_mem=4MB,64MB",
    "PROFILE": "sata-ssd", "SHELL": "bash", "ADDRESS": "tls://head:8786",
}  # fmt: skip
"""What the placeholders of a synopsis become."""

INSTEAD = {
    "run --discard-snapshots": "run fillfactor --discard-snapshots",
    "drive simulate FILE": "drive simulate load.toml",
    f"run fillfactor --quick --budget 8min --allow-busy --out {FIRST}": "run fillfactor --quick --out runs/next",
    "studies NAME": "studies fillfactor",
    "export RUN --capsule FILE": f"export {RUN} --capsule run.capsule",
    "import FILE": "import results.csv --columns treatment=page_kB,condition=mode,value=tps",
    "lint FILE": "lint hammer.DB",
    "lint runs/imported-": "lint runs/imported",
    "show runs/imported-": "show runs/imported",
}
"""Mentions of an option alone, and examples that want another record than `RUN`."""

ONLY_PARSED = {
    "advise --quick": "searches for minutes",
    "ask": "needs a captured server: tests/capture has one",
    "track": "builds commits of a repository: tests/lab/test_track.py and tests/cli/test_track.py",
    "bisect": "builds commits of a repository: tests/lab/test_bisection.py and tests/cli/test_bisect.py",
    "capture": "reads a server: the same",
    "compare wal_compression=off wal_compression=lz4 -N --count": "needs Valgrind: tests/system/test_counted.py",
    "run page-size --quick --count": "the same, and servers that are built for minutes: tests/study/test_document.py",
    "drive compressibility DIR": "reads a cluster of PostgreSQL's: the tests of that package have one",
    "report RUN --disk RUN": "needs a disk study of this machine: tests/report/test_bottleneck.py plants one",
    "doctor --repair": "changes the machine",
    "init --from": "asks a server: tests/system",
    "postgres build": "compiles servers for minutes: tests/postgres and tests/system",
    "drive predict RUN": "needs a run whose drives were aged: tests/lab/test_prediction.py",
    "rerun CAPSULE": "runs a study for minutes: tests/cli/test_rerun.py and tests/system/test_capsules.py",
    "rerun FILE": "the same",
    "fleet worker": "works until its scheduler is gone: tests/fleet/test_dask.py",
    "show RUN --functions": "needs a run that counted: tests/report/test_functions.py",
    "show RUN --by-host": "needs a run of a fleet: tests/report/test_environments.py",
    "serve": "serves until it is interrupted: tests/live/test_server.py",
    "resume RUN": "goes on with a run for minutes: tests/lab and tests/system",
    **dict.fromkeys(
        (
            f"run {name} --as-published"
            for name in ("page-size", "cores", "disk", "fillfactor-drive", "wal-drive", "cache", "tpcc-fillfactor")
        ),
        "its plan is kept and held against the study by tests/docs/test_as_published.py",
    ),
    "run study.toml --server": "needs a staging server: tests/system/test_attach.py",
    "compare work_mem=4MB work_mem=64MB --server": "the same",
    "compare --server": "the same: tests/system/test_compared_servers.py",
    "compare shared_buffers=4GB shared_buffers=16GB --server": "the same: tests/system/test_restarts.py",
    "run --discard-snapshots": "removes what other runs on this machine have prepared",
}
"""The beginning of a command to the reason why nothing but its options is checked."""

COMMANDS_SHOWN = commands()
PLANNED = ("run ", "compare ", "drive cut ")
"""Planned with --dry-run, which looks for a PostgreSQL."""

ALONE = ("--help", "doctor", "studies", "drive simulate", "drive snapshots", "postgres list")
"""Commands that do something without any word more; others that stand alone are only named."""
NEED_ROOT = (
    "run cache", "run fillfactor-drive", "run fillfactor --quick --set drive.data=", "run power-cut",
    "run recovery-time", "run commit-safety", "run drive-speed", "drive cut ",
)  # fmt: skip
"""Studies with host factors or drives."""
GROUPS = ("drive", "fleet", "postgres")
"""Commands with commands of their own."""


def test_a_block_of_output_ends_with_its_fence(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n```prose\nb\n```\n`pgassay doctor`\n```\npgassay studies\n```\n", encoding="utf-8")
    assert [(each.language, each.text) for each in parts(page)] == [
        ("prose", "a"), ("prose", "b"), ("prose", "`pgassay doctor`"), ("", "pgassay studies"), ("prose", ""),
    ]  # fmt: skip


def test_the_lists_hold_nothing_that_no_page_shows() -> None:
    shown = [" ".join(words(example.text)) for example in COMMANDS_SHOWN]
    assert [each for each in INSTEAD if each not in shown] == []
    assert [start for start in ONLY_PARSED if not any(f"{each} ".startswith(f"{start} ") for each in shown)] == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with everything that the examples name: records, a CSV, outputs of other tools."""
    folder = tmp_path_factory.mktemp("examples")
    (folder / "runs").mkdir()
    planted.make_run(folder / RUN, discarded=False)
    planted.make_run(folder / FIRST, discarded=False)
    scaled.make_scaled(folder / "runs/scaling")
    shutil.copytree(folder / "runs/scaling", folder / "runs/imported")
    rows = [
        f"{size},{scale},{mode},{1000 + 7 * size + run},60,{1700000000 + 100 * run + size}"
        for run in range(5)
        for size in (4, 8)
        for scale in (1, 10)
        for mode in ("N", "S")
    ]
    (folder / "results.csv").write_text(
        "page_kB,scale,mode,tps,seconds,began\n" + "\n".join(rows) + "\n", encoding="utf-8"
    )
    hammerdb(folder / "hammer.DB")
    (folder / "wal.toml").write_text(next(each.text for each in blocks("toml") if each.page == "studies.md"))
    (folder / "shop.sql").write_text("CREATE TABLE orders (id int, customer int, placed date, total numeric);\n")
    (folder / "orders.sql").write_text("SELECT placed FROM orders WHERE customer = :customers;\n")
    (folder / "load.toml").write_text(next(each.text for each in blocks("toml") if each.page == "drives.md"))
    for size in ("4kB", "8kB"):
        for run in range(1, 6):
            log = folder / "pg" / size / f"run-{run}" / "pgbench.log"
            log.parent.mkdir(parents=True)
            log.write_text(pgbench(1000.0 + run), encoding="utf-8")
    return folder


@pytest.fixture
def world(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The directory of the examples, with state of its own that PostgreSQL's account can reach."""
    monkeypatch.chdir(folder)
    with TemporaryDirectory(prefix="pgassay-", dir="/var/tmp") as own:
        Path(own).chmod(0o755)
        for variable in ("PGASSAY_DATA_DIR", "PGASSAY_STATE_DIR", "XDG_STATE_HOME"):
            monkeypatch.setenv(variable, f"{own}/{variable.lower()}")
        yield


def typed(example: Example) -> list[str]:
    """What is really typed for an example, after `pgassay`."""
    shown = " ".join(words(example.text))
    line = words(f"pgassay {INSTEAD[shown]}") if shown in INSTEAD else words(example.text)
    return [STANDS_FOR.get(word, word) for word in line]


def kind(example: Example) -> str:
    """How it is tried: `parsed`, `mentioned` (its help is asked for), `planned` (with --dry-run) or `run`."""
    line = words(example.text)
    shown = " ".join(line)
    if shown not in ALONE and len(line) <= (2 if line[0] in GROUPS else 1):
        return "mentioned"
    if any(f"{shown} ".startswith(f"{start} ") for start in ONLY_PARSED):
        return "parsed"
    return "planned" if shown.startswith(PLANNED) else "run"


def of_kind(*kinds: str) -> list[Example]:
    return [example for example in COMMANDS_SHOWN if kind(example) in kinds]


@pytest.mark.parametrize("example", of_kind("run"), ids=str)
def test_a_command_works_as_it_is_shown(world: None, example: Example, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status = main(typed(example))
    except SystemExit as left:  # --help
        status = int(left.code or 0)
    printed = capsys.readouterr()
    assert (status, "error" in printed.err) == (0, False), printed.err
    assert printed.out, "says something"


@pytest.mark.system
@pytest.mark.parametrize("example", of_kind("planned"), ids=str)
def test_a_study_can_be_planned_as_it_is_shown(
    world: None, example: Example, capsys: pytest.CaptureFixture[str]
) -> None:
    line = typed(example)
    if os.geteuid() != 0 and " ".join(line).startswith(NEED_ROOT):
        pytest.skip("needs root")
    status = main([*line, *(() if "--dry-run" in line else ("--dry-run",)), "--allow-volatile", "--allow-busy"])
    printed = capsys.readouterr()
    lacks = json.loads(printed.out)["missing"] if "--json" in line else "  missing  " in printed.out
    assert status == (1 if lacks else 0), printed.err
    assert printed.out


@pytest.mark.parametrize("example", of_kind("mentioned"), ids=str)
def test_a_command_that_is_only_named_has_help(example: Example, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([*typed(example), "--help"])
    assert left.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: pgassay {typed(example)[0]}")


@pytest.mark.parametrize("example", of_kind("parsed"), ids=str)
def test_the_options_of_what_is_not_run_exist(
    world: None, example: Example, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = typed(example)
    called: list[object] = []
    module = import_module(f"pgassay.cli.{line[0].replace('-', '_')}")

    def run(arguments: object) -> int:
        called.append(arguments)
        return 0

    monkeypatch.setattr(module, "run", run)
    assert main(line) == 0, capsys.readouterr().err
    assert len(called) == 1


def test_every_command_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    for name in COMMANDS:
        with pytest.raises(SystemExit) as left:
            main([name, "--help"])
        assert left.value.code == 0
    assert capsys.readouterr().out.count("usage: pgassay") == len(COMMANDS)
