"""Runs that differ in a setting are no repetitions, whatever wrote them; what numbers repetitions is no setting."""

import json
import shutil
from pathlib import Path

import pytest

from pgassay.cli import main
from pgassay.importing.files import read_files
from pgassay.importing.reader import Options, file_names, parse_roles
from tests.importing.made import SAMPLES, hammerdb, pgbench

SYSBENCH_TESTS = (
    *("oltp_delete", "oltp_insert", "oltp_point_select", "oltp_read_only", "oltp_read_write", "oltp_update_index"),
    *("oltp_update_non_index", "oltp_write_only"),
)


def groups(*paths: Path, options: Options | None = None) -> dict[str, int]:
    """Arm to the number of its runs."""
    reading, roles = read_files(paths, options or Options(), compared=False)
    found: dict[str, int] = {}
    for run in reading.runs:
        label = ", ".join(f"{use.name}={run.fields.get(use.field, '')}" for use in roles.levels)
        found[label] = found.get(label, 0) + 1
    return found


def lint(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, str]:
    """Code to evidence."""
    capsys.readouterr()
    assert main(["lint", *words, "--json"]) == 0
    return {each["code"]: each["evidence"] for each in json.loads(capsys.readouterr().out)["findings"]}


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_the_worst_group_of_three_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for place in range(14):
        tps = (1000.0 + place, 1001.0 + place, 999.0 + place)
        put(tmp_path / f"{place}.txt", "".join(pgbench(each, clients=place + 1) for each in tps))
    put(tmp_path / "worst.txt", "".join(pgbench(each, clients=64) for each in (14790.0, 13300.0, 8571.0)))
    evidence = lint(capsys, str(tmp_path))["noisy"]
    assert "the worst: clients=64, 3 runs from 8571 to 14790" in evidence
    assert "CV 27 %; the median of 15 is 0.1 %" in evidence


def test_eight_tests_of_sysbench_are_not_identical_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (SAMPLES / "sysbench_oltp_update_index.txt").read_text(encoding="utf-8")
    for place, name in enumerate(SYSBENCH_TESTS, start=1):
        put(tmp_path / f"{name}.txt", text.replace("(10461.13 per sec.)", f"({10461.13 * place:.2f} per sec.)"))
    assert groups(tmp_path) == {f"file={name}": 1 for name in SYSBENCH_TESTS}
    assert "noisy" not in lint(capsys, str(tmp_path))
    named = Options(roles=parse_roles(["treatment=threads"]))
    assert len(groups(tmp_path, options=named)) == len(SYSBENCH_TESTS), "also where an option names the treatments"


def test_sysbench_tests_without_a_name_are_told_apart_by_their_statements(tmp_path: Path) -> None:
    for number, name in enumerate(("sysbench_oltp_delete", "sbtpcc_RR"), start=1):
        shutil.copy(SAMPLES / f"{name}.txt", tmp_path / f"run-{number}.txt")
    assert any("statements=writes, one a transaction" in group for group in groups(tmp_path))
    assert len(groups(tmp_path)) == 2


@pytest.mark.parametrize("other", ["duration: 90 s", "maximum number of tries: 5", "scaling factor: 21"])
def test_each_setting_of_pgbench_tells_runs_apart(tmp_path: Path, other: str) -> None:
    said = pgbench(100.0, duration_s=60)
    line = next(line for line in said.splitlines() if line.startswith(other.partition(":")[0]))
    for number in (1, 2, 3):
        put(tmp_path / f"run-{number}.txt", said)
        put(tmp_path / f"run-{number + 3}.txt", said.replace(line, other))
    assert sorted(groups(tmp_path).values()) == [3, 3]


def test_each_setting_of_hammerdb_tells_runs_apart(tmp_path: Path) -> None:
    hammerdb(tmp_path / "a.DB", (100, 101))
    assert groups(tmp_path) == {"virtual_users=8": 2}
    hammerdb(tmp_path / "b.DB", (100, 101), users=16)
    assert groups(tmp_path) == {"virtual_users=8": 2, "virtual_users=16": 2}


def test_a_scale_without_a_role_is_a_condition_and_said(tmp_path: Path) -> None:
    rows = [f"{size},{scale},{tps}" for size in "48" for scale, tps in ((100, 900), (5000, 90)) for _ in range(3)]
    table = put(tmp_path / "t.csv", "\n".join(["page,scale,tps", *rows]) + "\n")
    options = Options(roles=parse_roles(["treatment=page,value=tps"]))
    assert len(groups(table, options=options)) == 4
    reading, _ = read_files([table], options, compared=False)
    assert any("runs of one treatment differ by scale: conditions" in remark for remark in reading.remarks)
    assert len(groups(table, options=Options(roles=parse_roles(["treatment=page,value=tps,ignore=scale"])))) == 2


def test_what_numbers_repetitions_is_no_name() -> None:
    def names(*texts: str) -> list[str]:
        return list(file_names(map(Path, texts)).values())

    assert names("c16/run-1.txt", "c16/run-2.txt", "c32/run-1.txt") == ["run"] * 3
    assert names("out.0", "out_1.txt", "out_2.txt") == ["out"] * 3
    assert names("read_20260101T101500Z.txt", "read_20260102T101500Z.txt") == ["read"] * 2
    assert names("buffers_128.txt", "buffers_256.txt") == ["buffers_128", "buffers_256"], "no number of a repetition"
    assert names("pg16.txt", "pg17.txt") == ["pg16", "pg17"]


@pytest.mark.parametrize("column", ["run_with_num_users", "count_ware", "Virtual Users", "max_clients", "vu"])
def test_a_table_s_column_of_a_count_is_a_setting(tmp_path: Path, column: str) -> None:
    """Runs at 1 to 32 `run_with_num_users` were six repetitions of one treatment."""
    rows = "".join(f"{host},{users},{100 * users}\n" for host in "ab" for users in (1, 8, 32))
    path = put(tmp_path / "results.csv", f"pg_host,{column},NOPM\n{rows}")
    options = Options(roles=parse_roles(["treatment=pg_host,value=NOPM"]))
    assert set(groups(path, options=options).values()) == {1}
