"""Instructions instead of times, from `compare`, `bisect` and `track` to their answers, and what a kill leaves."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from pgassay import children
from pgassay.cli.postgres import builder
from pgassay.lab.places import Building
from pgassay.postgres.builds.cache import VARIABLE
from pgassay.record.counts import FILE, counts, decode
from pgassay.study.responses import Status
from tests.postgres.builds.test_real_build import CONSENT, built
from tests.system.journeys import (
    ANYWHERE,
    GONE_S,
    Place,
    committed,
    finished,
    hashes,
    kill,
    resumed,
    standing_still,
)
from tests.system.test_schemas import git

pytestmark = [
    pytest.mark.system,
    pytest.mark.slow,
    pytest.mark.skipif(children.which("valgrind") is None, reason="valgrind is not installed"),
]
COUNTED = ("compare", "wal_compression=off", "wal_compression=lz4", "-N", "-t", "100", "--count", *ANYWHERE)
"""With few transactions: each is seven messages, and each waits for its turn where the machine does much else."""


@pytest.mark.timeout(3600)  # ten trials on a machine that does much else
def test_a_change_is_resolved_by_what_the_server_executes(journey: Place) -> None:
    out = journey.runs / "counted"
    done = finished(journey.start(*COUNTED, "--out", str(out), "--json", "--seed", "3"), patience_s=3600.0)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    (verdict,) = [each for each in result["verdicts"] if each["response"] == "instructions_per_transaction"]
    assert (verdict["verdict"], verdict["blocks"]) == ("worse", 5)
    assert {trial.status for trial in journey.record("counted").trials} == {Status.VALID}
    assert 1.1 < verdict["low"] < verdict["estimate"] < verdict["high"] < 2.0
    assert verdict["high"] / verdict["low"] < 1.05, "counts hardly wander, whatever else runs here"
    assert "executes" in result["headline"]["sentences"][0]
    run = journey.record("counted")
    for trial in run.trials:
        assert trial.responses["tps"] is None, "no time is told"
        assert (trial.responses["wal_bytes_per_transaction"] or 0) > 100
        executed = decode((out / "trials" / f"{trial.number:06d}" / FILE).read_bytes())
        assert executed.instrument.startswith("valgrind")
        assert executed.functions["heap_update"][1] == pytest.approx(1.0, abs=0.1), "-N updates accounts alone"
        assert sum(executed.processes.values()) == trial.responses["instructions_per_transaction"]
    assert journey.left_behind() == []
    assert journey.pgassay("check", str(out)).returncode == 0


@pytest.mark.timeout(3600)  # ten timed trials and ten counted ones
def test_counts_along_with_times_are_one_answer(journey: Place) -> None:
    out = journey.runs / "both"
    words = ("--count-also", "--set", "load.count=also:100", "-c", "2", "-s", "1", "-T", "3", "--blocks", "5..5")
    both = ("compare", "wal_compression=off", "wal_compression=lz4", "-N", *words, *ANYWHERE)
    done = finished(journey.start(*both, "--out", str(out), "--json", "--seed", "3"), patience_s=3600.0)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert {each["response"] for each in result["verdicts"]} >= {"tps"}
    (along,) = result["counted_along"]
    assert along["instructions"]["treatment"] == "server.wal_compression=lz4"
    assert 1.1 < along["instructions"]["low"] < along["instructions"]["high"] < 2.0
    _, executes, *_ = result["headline"]["sentences"]
    assert "more instructions" in executes
    run = journey.record("both")
    for trial in [each for each in run.trials if each.status is Status.VALID]:
        assert (trial.responses["tps"] or 0) > 0
        found = counts(run, trial.number)
        assert found is not None
        assert sum(found.processes.values()) == trial.responses["instructions_per_transaction"]
        assert found.transactions == 90, "of one client, whatever the timed trial's"
    assert journey.left_behind() == []
    assert journey.pgassay("check", str(out)).returncode == 0
    assert "LZ4_compress" in journey.pgassay("show", str(out), "--functions").stdout


@pytest.mark.timeout(3600)  # ten trials on a machine that does much else
def test_a_count_in_which_the_lab_is_killed_is_made_again(journey: Place) -> None:
    """Its servers, which run under the instrument, end by themselves."""
    out = journey.runs / "killed"
    process = journey.start(*COUNTED, "--out", str(out), "--seed", "3")
    counting = "trials/.staging-*/warmup/pgbench.out"
    with standing_still(lambda: committed(out) > 0 and any(out.glob(counting)), process):
        assert len(journey.servers()) > 4
        before = hashes(out)
        kill(process)
    deadline = time.monotonic() + GONE_S
    while journey.servers():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    done = finished(journey.resume("killed"), patience_s=3600.0)
    assert done.returncode == 0, done.stderr
    (verdict,) = [
        each for each in json.loads(done.stdout)["verdicts"] if each["response"] == "instructions_per_transaction"
    ]
    assert (verdict["verdict"], verdict["blocks"]) == ("worse", 5)
    run = journey.record("killed")
    assert (resumed(out), len(run.trials)) == (1, 10)
    assert all(counts(run, trial.number) is not None for trial in run.trials)
    assert len(list(out.glob("trials/.abandoned-*"))) == 1, "the trial whose count was cut short"
    assert {name: hashes(out).get(name) for name in before} == before
    assert journey.left_behind() == []
    assert journey.pgassay("check", str(out)).returncode == 0


LOOPS, MORE = 30_000, 300
"""Most of a transaction's instructions are theirs: a hundredth more of them is more than 0.5 % of it."""
EXTENSION = {
    "Makefile": "MODULES = planted\nEXTENSION = planted\nDATA = planted--1.0.sql\n"
    "PGXS := $(shell $(PG_CONFIG) --pgxs)\ninclude $(PGXS)\n",
    "planted.control": "default_version = '1.0'\nmodule_pathname = '$libdir/planted'\n",
    "planted--1.0.sql": "CREATE FUNCTION planted() RETURNS int AS 'MODULE_PATHNAME' LANGUAGE C STRICT;\n",
    "planted.c": '#include "postgres.h"\n#include "fmgr.h"\nPG_MODULE_MAGIC;\nPG_FUNCTION_INFO_V1(planted);\n',
}
STUDY = """# On the PostgreSQL that other tests have built.
[study]
format = 1
title = "An extension"
question = "Which commit made it dearer?"

[factors]
"server.work_mem" = ["4MB", "8MB"]

[fixed]
"build.block_size" = "4kB"
"build.wal_block_size" = "16kB"
"build.cflags" = "-O0"

[load]
driver = "pgbench"
init = "{place}/init.sql"
script = "{place}/script.sql"
protocol = "prepared"
"""


def history(folder: Path) -> Path:
    """An extension of seven commits: each but the fifth adds a function that nobody calls, the fifth does more."""
    made = folder / "extension"
    git(folder, "init", "-q", str(made))
    for name, text in EXTENSION.items():
        (made / name).write_text(text)
    for number in range(7):
        loops = LOOPS + (MORE if number >= 4 else 0)
        unused = "".join(f"int unused_{n}(int x) {{ return x * {n + 3} + (x >> {n}); }}\n" for n in range(number))
        does = f"{{ volatile int i; for (i = 0; i < {loops}; i++); PG_RETURN_INT32(i); }}\n"
        (made / "planted.c").write_text(f"{EXTENSION['planted.c']}{unused}Datum planted(PG_FUNCTION_ARGS) {does}")
        git(made, "add", ".")
        git(made, "commit", "-q", "-m", f"change {number}")
        git(made, "tag", f"v{number}")
    return made


@pytest.mark.timeout(7200)
def test_a_commit_that_executes_more_is_named_and_functions_that_nobody_calls_are_not(
    journey: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = builder(Building(allow_deb_src=bool(os.environ.get(CONSENT))))
    built(ours)  # or skips where none can be
    monkeypatch.setenv(VARIABLE, str(ours.cache.root))
    made = history(tmp_path)
    (tmp_path / "study.toml").write_text(STUDY.format(place=tmp_path))
    (tmp_path / "init.sql").write_text("CREATE EXTENSION planted;\n")
    (tmp_path / "script.sql").write_text("SELECT planted();\n")
    asked = (str(tmp_path / "study.toml"), "--git", str(made), "--extension", "--count", "--json", *ANYWHERE)
    few = ("--set", "load.transactions=100", "--first", "5")

    def told(status: int, command: str, name: str, *words: str) -> Any:
        done = finished(journey.start(command, *asked, "--out", str(journey.runs / name), *words), patience_s=3600.0)
        assert done.returncode == status, done.stderr
        return json.loads(done.stdout)

    try:
        named = told(0, "bisect", "named", "--good", "v0", "--bad", "v6", *few)
        assert named["commit"] == git(made, "rev-parse", "v4")
        assert 1.005 < named["effect"]["low"] < named["effect"]["estimate"] < named["effect"]["high"] < 1.011
        placebos = told(0, "bisect", "placebos", "--good", "v0", "--bad", "v3", *few)
        assert (placebos["differ"], placebos["commit"]) == (False, None)
        assert 0.998 < placebos["good_against_bad"]["low"] < placebos["good_against_bad"]["high"] < 1.002
        words = ("--reference", "v0", "--since", "v0", "--each", "2", "--check", *few[:2])
        (step,) = told(1, "track", "tracked", *words)["regressions"]
        assert step["commit"] == git(made, "rev-parse", "v4")
    finally:
        for each in [each for each in ours.cache.whole() if each.extension.startswith(f"git:{made}@")]:
            ours.cache.remove(each.recipe.key)  # others build meanwhile
    assert journey.left_behind() == []
