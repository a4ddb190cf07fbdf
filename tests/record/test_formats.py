"""Files of a run as bytes: what is written reads back, what is wrong is named, and every old format still reads.

The specimens are run directories as they were written; they are never changed. tests/record/specimens/format-1 must
read for ever; format-0 is upgraded in memory.
"""

from dataclasses import fields, replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.record import formats
from pgassay.record.check import check
from pgassay.record.directory import RunDirectory
from pgassay.record.errors import DamagedError, NewerFormatError, RecordError
from pgassay.record.formats import TrialDecoder, _Wire
from pgassay.record.reading import Run
from pgassay.record.values import FORMAT, LevelRecord, Reason, TrialRecord
from pgassay.study.responses import Status
from tests.record.runs import HEADER, HOST, RUN, trial

SPECIMENS = Path(__file__).parent / "specimens"
SPECIMEN_TRIALS = (trial(1), trial(2, Status.INVALID, None))
NUMBERS = st.none() | st.floats(-1e30, 1e30)
WORDS = st.text(max_size=10)
RECORDS = st.builds(
    TrialRecord,
    number=st.integers(0, 999_999),
    block=st.integers(1, 99),
    attempt=st.integers(1, 9),
    treatment=WORDS,
    condition=WORDS,
    covariate=WORDS,
    levels=st.dictionaries(WORDS, st.builds(LevelRecord, WORDS, WORDS, st.none() | WORDS), max_size=3),
    status=st.sampled_from(Status),
    started_wall_ns=st.integers(0, 2**62),
    finished_wall_ns=st.integers(0, 2**62),
    responses=st.dictionaries(WORDS, NUMBERS, max_size=3),
    reasons=st.lists(st.builds(Reason, WORDS, WORDS), max_size=2).map(tuple),
    counters=st.dictionaries(WORDS, NUMBERS, max_size=3),
    settings=st.dictionaries(WORDS, WORDS, max_size=3),
    regime=st.dictionaries(WORDS, WORDS | NUMBERS, max_size=3),
    timings_s=st.dictionaries(WORDS, st.floats(0, 1e6), max_size=3),
    seed=st.integers(0, 2**62),
)


@given(RECORDS)
def test_a_trial_reads_back_as_written(record: TrialRecord) -> None:
    assert formats.decode_trial(formats.encode(record), RUN, "trial.json") == record


@given(st.lists(RECORDS, max_size=4))
def test_the_decoder_of_many_trials_reads_the_same(records: list[TrialRecord]) -> None:
    decoder = TrialDecoder()
    assert [decoder.decode(formats.encode(record), RUN, "trial.json") for record in records] == records
    assert {field.name for field in fields(TrialRecord)} == set(_Wire.__struct_fields__)


@pytest.mark.parametrize(
    "data",
    [b"", b"\x89PNG", b'{"format": 1}', b'{"number": 1}', formats.encode(trial(1))[:-20],
     formats.encode(trial(1)).replace(b'"8kB"', b"8"),
     formats.encode(trial(1)).replace(b'"format": 1', b'"format": 9')],
)  # fmt: skip
def test_the_decoder_of_many_trials_refuses_the_same(data: bytes) -> None:
    with pytest.raises(RecordError) as one:
        formats.decode_trial(data, RUN, "trial.json")
    with pytest.raises(RecordError) as many:
        TrialDecoder().decode(data, RUN, "trial.json")
    assert str(many.value) == str(one.value)


def test_a_header_reads_back_as_written() -> None:
    assert formats.decode_header(formats.encode(HEADER), RUN) == HEADER
    assert formats.decode_host(formats.encode({"format": FORMAT, "facts": HOST}), RUN) == HOST


def test_a_number_that_json_cannot_say_is_missing() -> None:
    record = replace(trial(1), responses={"tps": float("nan"), "latency_ms": float("inf")})
    read = formats.decode_trial(formats.encode(record), RUN, "trial.json")
    assert read.responses == {"tps": None, "latency_ms": None}


def test_fields_that_a_later_version_added_are_passed_over() -> None:
    plain = {**msgspec.to_builtins(trial(1)), "colour": "blue"}
    assert formats.decode_trial(msgspec.json.encode(plain), RUN, "trial.json") == trial(1)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("status", "fine", "Invalid enum value 'fine'"),
        ("number", "1", "Expected `int`, got `str`"),
        ("responses", {"tps": "fast"}, "Expected `float | null`, got `str`"),
        ("levels", {"a": {"typed": "1"}}, "missing required field `canonical`"),
    ],
)
def test_a_wrong_type_is_named(name: str, value: object, words: str) -> None:
    plain = {**msgspec.to_builtins(trial(1)), name: value}
    with pytest.raises(DamagedError) as caught:
        formats.decode_trial(msgspec.json.encode(plain), RUN, "trials/000001/trial.json")
    assert words in caught.value.message
    assert "trials/000001/trial.json" in caught.value.message


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b"\xff", b'{"format": "1"}', b'{"format": 1}'])
def test_what_is_no_trial_is_damage(data: bytes) -> None:
    with pytest.raises(DamagedError):
        formats.decode_trial(data, RUN, "trial.json")


def test_a_later_format_is_refused_though_all_else_may_differ() -> None:
    with pytest.raises(NewerFormatError, match="has format 7, this pgassay reads up to format 1"):
        formats.decode_trial(b'{"format": 7, "number": "seven"}', RUN, "trial.json")


def test_there_is_a_specimen_of_every_format() -> None:
    assert sorted(path.name for path in SPECIMENS.iterdir()) == [f"format-{number}" for number in range(FORMAT + 1)]


@pytest.mark.parametrize("number", range(FORMAT + 1))
def test_every_format_reads_the_same(number: int) -> None:
    run = Run.open(SPECIMENS / f"format-{number}")
    expected: tuple[TrialRecord, ...] = SPECIMEN_TRIALS
    if number == 0:  # the draft knew neither canonical forms nor what was read back, and kept times as floats
        expected = tuple(
            replace(
                record,
                levels={name: LevelRecord(level.typed, level.typed) for name, level in record.levels.items()},
                started_wall_ns=record.started_wall_ns // 1000 * 1000,
                finished_wall_ns=record.finished_wall_ns // 1000 * 1000,
            )
            for record in expected
        )
    assert run.trials == expected
    assert (run.header, run.host) == (HEADER, HOST)
    assert run.series().collect().shape == (12, 7)


def test_the_specimen_of_today_passes_its_check() -> None:
    assert check(SPECIMENS / f"format-{FORMAT}") == []


def test_an_older_run_is_read_but_not_continued() -> None:
    with pytest.raises(RecordError, match="has format 0 and cannot be continued in format 1"):
        RunDirectory.open(SPECIMENS / "format-0")


def test_an_upgrade_of_nonsense_is_damage() -> None:
    for data in (b'{"format": 0}', b'{"format": 0, "reasons": 3, "levels": []}', b'{"format": 0, "levels": {"a": 1}}'):
        with pytest.raises(DamagedError):
            formats.decode_trial(data, RUN, "trial.json")
