"""A record in which every text is an attack on who reads it: each command and each file shows it, and none obeys it."""

import csv
import json
import re
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from pgassay.cli import main
from pgassay.outgoing import guard
from pgassay.probe.registry import Probes
from pgassay.record.directory import RunDirectory
from pgassay.record.formats import RunHeader
from pgassay.record.journal import Decision, Step
from pgassay.record.values import LevelRecord, Reason, TrialRecord
from pgassay.study.document import write
from pgassay.study.responses import Better, Response, Status
from tests.test_outgoing import FORMULA, obeyed

ATTACK = "\x1b]0;owned\x07\x1b[2J\rok\u202e\u2066\u200b\x9b1m[red][link=http://evil.example]<b>|`*{{7*7}}"
FACTOR = "server.application_name"
LEVELS = ("plain", f"a{ATTACK}", f"{FORMULA}{ATTACK}")
BLOCKS = 6
STARTED_NS = 1_700_000_000 * 10**9
SEEN = r"\u001b]0;owned\u0007\u001b[2J"
STUDY: dict[str, Any] = {
    "study": {"format": 1, "title": f"Title{ATTACK}", "question": f"Question{ATTACK}\npgassay: error: none"},
    "factors": {FACTOR: list(LEVELS)},
    "responses": {"primary": "tps", "secondary": ["latency_p99_ms"]},
    "design": {"blocks": {"min": 5, "max": 8}},
    "claims": [
        {"text": f"Claim{ATTACK}", "source": f"Source{ATTACK}", "published": f"P{ATTACK}", "response": "tps",
         "treatment": {FACTOR: LEVELS[1]}, "against": {FACTOR: LEVELS[0]}, "low": 0.5, "high": 2.0},
    ],
}  # fmt: skip


def committed(run: RunDirectory, block: int, level: str, status: Status) -> None:
    staging = run.begin_trial(run.next_number)
    number = staging.number
    started = STARTED_NS + number * 10**10
    better = 1.0 + 0.2 * LEVELS.index(level) + 0.003 * (number % 5)
    run.commit_trial(
        staging,
        TrialRecord(
            number=number,
            block=block,
            attempt=1,
            host=f"host{ATTACK}",
            treatment=f"{FACTOR}={level}",
            condition="",
            covariate="",
            levels={FACTOR: LevelRecord(level, level, level)},
            status=status,
            started_wall_ns=started,
            finished_wall_ns=started + 9 * 10**9,
            responses={"tps": 1000.0 * better, "latency_p99_ms": 4.0 / better} if status is Status.VALID else {},
            reasons=() if status is Status.VALID else (Reason("aborted", f"the server: {ATTACK}\nERROR: {ATTACK}"),),
            settings={"shared_buffers": "128MB", "cluster_name": f"{level}{ATTACK}"},
            regime={"window_s": 8.0, "warmup_s": 1.0, "checkpoint": f"wal{ATTACK}"},
        ),
        [],
    )  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "run\x1b[2J\u202eslow"
    header = RunHeader(
        study=f"name{ATTACK}",
        started_utc="2026-01-02T03:04:05Z",
        seed=1,
        responses=(
            Response("tps", f"transactions{ATTACK}", f"1/s{ATTACK}", Better.HIGHER),
            Response("latency_p99_ms", "99th percentile of latency", "ms", Better.LOWER),
            *Probes().responses,
        ),
        command=("pgassay", "run", ATTACK),
        program_version=f"0.1.0{ATTACK}",
    )
    host: dict[str, object] = {
        "cpu": {"model": f"cpu{ATTACK}"},
        "kernel": {"release": ATTACK},
        "mounts": [],
        "swap": None,
    }
    with RunDirectory.create(path, header, write(STUDY), host) as made:
        for block in range(1, BLOCKS + 1):
            for level in LEVELS:
                committed(made, block, level, Status.VALID)
        committed(made, BLOCKS, LEVELS[1], Status.OUTCOME)
        committed(made, BLOCKS, LEVELS[2], Status.INVALID)
        made.decide(Decision(Step.STOP, "0" * 64, 1.0, 1.0, reason=f"every verdict is settled{ATTACK}").as_data())
        made.finish(f"every verdict is settled{ATTACK}")
    return path


def said(*words: str | Path, statuses: Sequence[int] = (0,)) -> str:
    """What `pgassay WORDS` writes on a terminal, after a look that nothing of it is obeyed."""
    outputs = [TextIOWrapper(BytesIO(), encoding="utf-8", newline="") for _ in range(2)]
    with redirect_stdout(outputs[0]), redirect_stderr(outputs[1]):
        guard()  # as every command begins
        status = main([*map(str, words)])
    for each in outputs:
        each.seek(0)
    text, errors = (each.read() for each in outputs)
    assert obeyed(text) == []
    assert obeyed(errors) == []
    begun = re.search("^(ok|ERROR: |pgassay: error: none)", text, re.MULTILINE)
    assert begun is None or "--csv" in words, "a line that a text began, outside the quotes of CSV"
    assert "Traceback" not in errors
    assert status in statuses, errors
    return text


@pytest.mark.parametrize(
    "words",
    [["show"], ["show", "-v"], ["show", "-q"], ["lint"], ["check"]],
    ids=" ".join,
)  # fmt: skip
def test_a_command_shows_texts_and_obeys_none(run: Path, words: list[str]) -> None:
    command, *options = words
    text = said(command, run, *options, statuses=(0, 2) if command == "check" else (0,))
    if words[0] in ("show", "export"):
        assert SEEN in text.replace("\\\\", "\\")
        assert "[red]" in text, "markup of rich is text"


@pytest.mark.parametrize("words", [["show"], ["export"], ["lint"], ["check"]], ids=" ".join)
def test_json_keeps_the_data_and_is_harmless_on_a_terminal(run: Path, words: list[str]) -> None:
    text = said(words[0], run, "--json", statuses=(0, 2))
    assert text.isascii()
    found = json.loads(text)
    if words[0] == "export":
        assert {each["levels"][FACTOR]["typed"] for each in found} == set(LEVELS)


@pytest.mark.parametrize("words", [["show"], ["export"]], ids=" ".join)
def test_no_cell_of_csv_is_a_formula(run: Path, words: list[str]) -> None:
    rows = list(csv.reader(said(words[0], run, "--csv").splitlines()))
    found = [each for row in rows for each in row]
    assert any(each.startswith("'=cmd") for each in found)
    runs = re.compile("[=@\t\r]|[+-].*[(|!]")
    assert [each for each in found if runs.match(each)] == []


def test_the_page_and_all_files_beside_it(run: Path, tmp_path: Path) -> None:
    said("report", run, "--out", tmp_path / "page", "--weigh", "tps > -5 %")
    page = (tmp_path / "page" / "report.html").read_text(encoding="utf-8")
    body, _, scripts = page.partition('<script type="module">')
    assert obeyed(body) == []
    assert SEEN in body
    assert "<b>|" not in body
    assert "There is no picture" not in body
    assert "could not be drawn" not in body
    specifications = json.loads(re.search(r"^const specifications = (\{.*\});$", scripts, re.MULTILINE)[1])  # type: ignore[index]
    texts = json.dumps(specifications, ensure_ascii=False)
    assert obeyed(texts) == []
    assert "[2J" in texts, "figures that have those texts"
    drawings = sorted((tmp_path / "page" / "figures").glob("*.svg"))
    assert {each.stem for each in drawings} == set(specifications)
    for each in drawings:
        assert obeyed(each.read_text(encoding="utf-8")) == []
        ElementTree.parse(each)
    for each in sorted((tmp_path / "page" / "data").glob("*.csv")):
        cells = [cell for row in csv.reader(each.read_bytes().decode().splitlines(keepends=True)) for cell in row]
        assert obeyed("".join(cells), keep="\n") == []
        assert [cell for cell in cells if cell.startswith(("=", "@"))] == []
    for each in sorted((tmp_path / "page" / "data").glob("*.json")):
        assert each.read_text(encoding="utf-8").isascii()


def test_a_damaged_record_is_named_without_being_obeyed(run: Path, tmp_path: Path) -> None:
    (tmp_path / f"run{ATTACK.replace('/', '')}").symlink_to(run)
    said("show", tmp_path / f"no{ATTACK.replace('/', '')}", statuses=(2,))
    said("check", tmp_path / f"run{ATTACK.replace('/', '')}", statuses=(0, 2))


@pytest.mark.system
def test_a_plan_shows_texts_and_obeys_none(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(write(STUDY), encoding="utf-8")
    text = said("run", study, "--dry-run", statuses=(0, 1, 2))
    assert obeyed(said("run", study, "--dry-run", "--json", statuses=(0, 1, 2))) == []
    assert SEEN in text
