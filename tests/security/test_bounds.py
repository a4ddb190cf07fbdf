"""What comes in is bounded: depth, size, type and kind of file, each refused with the file's name and a reason."""

import json
import os
import shutil
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from pgassay import cli, untrusted
from pgassay.errors import PgassayError
from pgassay.live.progress import Watched
from pgassay.testing.planted import make_run
from tests.security.forging import bounded

DEEP = b"[" * 100_000 + b"]" * 100_000


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = make_run(tmp_path_factory.mktemp("original") / "run", discarded=False).path
    (run / "index.parquet").unlink()
    return run


@pytest.fixture
def run(original: Path, tmp_path: Path) -> Path:
    return shutil.copytree(original, tmp_path / "run")


def said(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    """What a command prints that must fail, at once, as the house fails."""
    with bounded(lambda: " ".join(map(str, words))):
        status = cli.main([str(each) for each in words])
    shown = capsys.readouterr()
    assert status == 2, shown
    assert "Traceback" not in shown.err
    return shown.out + shown.err


def rewrite(path: Path, change: Callable[[Any], object]) -> None:
    document = json.loads(path.read_bytes())
    change(document)
    path.write_text(json.dumps(document))


def rewrite_journal(run: Path, kind: str, **data: Any) -> int:
    """Other data in the first line of a kind, with its right checksum; returns the line's number."""
    lines = [json.loads(line) for line in (run / "journal.jsonl").read_bytes().splitlines()]
    number = next(place for place, each in enumerate(lines) if each["kind"] == kind)
    lines[number]["data"] |= data
    text = b""
    for each in lines:
        del each["crc32"]
        body = json.dumps(each, separators=(",", ":")).encode()[:-1]
        text += body + b',"crc32":"%08x"}\n' % zlib.crc32(body)
    (run / "journal.jsonl").write_bytes(text)
    return number + 1


@pytest.mark.parametrize("name", ["run.json", "host.json", "study.toml"])
@pytest.mark.parametrize(
    "data", [DEEP, b"\xff\xfe", b'{"format": 1, "x": ' + DEEP + b"}", b'x = "' + b"9" * 5000, b"x = " + b"9" * 5000]
)
def test_a_records_own_file_that_nobody_can_decode_is_named(
    run: Path, name: str, data: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / name).write_bytes(data)
    assert name in said(capsys, "check", run)
    assert name in said(capsys, "show", run)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("decision", {"budget_used_s": "x"}),
        ("decision", {"step": 7}),
        ("decision", {"trial": -1}),
        ("trial_started", {"number": "1"}),
        ("trial_committed", {"sha256": None}),
        ("finished", {"reason": {"a": 1}}),
        ("finished", {"more": json.loads("[" * 300 + "]" * 300)}),
    ],
)
def test_a_line_of_the_journal_with_a_wrong_type_is_named(
    run: Path, kind: str, data: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    line = rewrite_journal(run, kind, **data)
    assert f"line {line}" in said(capsys, "check", run)
    assert f"line {line}" in said(capsys, "show", run)


def test_an_unknown_primary_is_named(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = run / "study.toml"
    study.write_text(study.read_text().replace('primary = "tps"', 'primary = "speed"'))
    assert '"speed" of study.toml is not declared in run.json' in said(capsys, "show", run)


def test_a_trial_of_no_arm_is_named(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = run / "study.toml"
    study.write_text(study.read_text().replace("75", "74"))
    assert '"table.fillfactor=75", not an arm of the study' in said(capsys, "show", run)


@pytest.mark.parametrize("value", ["nan", "-inf", "9" * 30, '"\\u0000"', "[" * 50 + "]" * 50])
def test_a_value_in_a_study_that_no_program_takes_is_refused(
    tmp_path: Path, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.toml").write_text(f'[study]\nformat = 1\n[fixed]\n"server.work_mem" = {value}\n')
    assert '"mine" is not valid TOML: it ' in said(capsys, "run", tmp_path / "mine.toml", "--dry-run")


def test_a_study_that_is_no_utf_8_names_the_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.toml").write_bytes(b"[study]\n# gr\xfc\xdfe\n")
    assert 'mine.toml": line 2 is not utf-8 (byte 0xfc)' in said(capsys, "run", tmp_path / "mine.toml", "--dry-run")


def test_a_study_of_too_many_treatments_is_refused_by_their_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    levels = [f"{64 + each}MB" for each in range(9)]
    names = [f'"server.setting_{each}" = {json.dumps(levels)}' for each in range(12)]
    (tmp_path / "mine.toml").write_text("[study]\nformat = 1\n[covariates]\n" + "\n".join(names))
    text = (tmp_path / "mine.toml").read_text().replace("server.setting_", "table.t")
    (tmp_path / "mine.toml").write_text(text.replace('" =', '.fillfactor" =').replace("MB", ""))
    shown = said(capsys, "run", tmp_path / "mine.toml", "--dry-run")
    assert "9 x 9 x 9 x 9 x 9 x 9 x 9 x 9 x 9 x 9 x 9 x 9 = 282,429,536,481 arms, more than 10,000" in shown


def test_a_study_of_thousands_of_factors_is_refused_without_their_product(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its number of treatments has more digits than Python prints."""
    names = [f'"server.x{each}" = ["1", "2"]' for each in range(20_000)]
    (tmp_path / "mine.toml").write_text("[study]\nformat = 1\n[factors]\n" + "\n".join(names))
    shown = said(capsys, "run", tmp_path / "mine.toml", "--dry-run")
    assert "the study has arms of 20,000 factors, more than 10,000" in shown


def special(path: Path, kind: str) -> None:
    """Something else under a file's name."""
    path.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")


@pytest.mark.parametrize("kind", ["fifo", "directory", "link"])
@pytest.mark.parametrize(
    "name",
    ["run.json", "host.json", "study.toml", "journal.jsonl", "trials/000002/trial.json",
     "trials/000002/series.parquet", "trials/000002/SHA256SUMS", "trials/000002/slices.jsonl", "statements.json"],
)  # fmt: skip
def test_only_regular_files_of_a_record_are_read(
    run: Path, name: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    special(run / name, kind)
    if name not in ("statements.json", "trials/000002/slices.jsonl"):  # not looked for by `check`
        assert Path(name).name in said(capsys, "check", run)
    with bounded(lambda: "show"):
        assert cli.main(["show", "--json", str(run)]) in (0, 1, 2)
    with bounded(lambda: "serve"), suppress(PgassayError, OSError):
        Watched(run).progress()


@pytest.mark.parametrize("kind", ["fifo", "directory", "link"])
def test_only_regular_files_are_studies(tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    special(tmp_path / "mine.toml", kind)
    if kind != "fifo":  # which is read: it may be what `<(…)` names
        assert "mine.toml" in said(capsys, "run", tmp_path / "mine.toml", "--dry-run")


def test_a_file_is_read_no_further_than_its_bound(tmp_path: Path) -> None:
    (tmp_path / "sparse").touch()
    os.truncate(tmp_path / "sparse", 1 << 41)
    with pytest.raises(OSError, match="more than 1,073,741,824 bytes"):
        untrusted.read_bytes(tmp_path / "sparse")
    with pytest.raises(OSError, match="more than 100 bytes"):
        untrusted.read_bytes(Path("/dev/zero"), pipes=True, most=100)


def test_what_a_pipe_gives_is_read_where_the_user_named_it(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"x = 1\n")
    os.close(writing)
    assert untrusted.read_text(Path(f"/dev/fd/{reading}"), pipes=True) == "x = 1\n"
    os.close(reading)
