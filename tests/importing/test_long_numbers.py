"""A number that no program prints: 5,000 digits, which int() refuses, 400, which are no float, or two points."""

import re
from pathlib import Path

import pytest

from pgassay.importing.hammerdb import read_log
from pgassay.importing.pgbench import read_outputs as read_pgbench
from pgassay.importing.reader import Reading
from pgassay.importing.sysbench import read_outputs as read_sysbench

SAMPLES = Path(__file__).parents[1] / "samples"
HAMMERDB = "\n".join(
    (
        "Vuser 1:Beginning rampup time of 2 minutes",
        "Vuser 1:Timing test period of 5 in minutes",
        "4 Active Virtual Users configured",
        "TEST RESULT : System achieved 38241 NOPM from 88004 PostgreSQL TPM",
        "",
    )
)
READERS = {
    "pgbench16_N.txt": read_pgbench, "pgbench15_rate.txt": read_pgbench,
    "sysbench_hist.txt": read_sysbench, "sysbench_oltp_delete.txt": read_sysbench, "HammerDB": read_log,
}  # fmt: skip


@pytest.mark.parametrize("number", ["9" * 5000, "9" * 400, "1.2.3"], ids=["unconvertible", "infinite", "two points"])
@pytest.mark.parametrize("name", READERS)
def test_a_number_that_no_program_prints_is_no_number(name: str, number: str) -> None:
    text = HAMMERDB if name == "HammerDB" else (SAMPLES / name).read_text()
    read = READERS[name]
    whole = read(name, text)
    assert isinstance(whole, Reading)
    assert len(whole.runs) == 1
    for place in {
        re.sub(r"[\d. ]+", "N", text[: found.start()].rpartition("\n")[2]): found for found in places(text)
    }.values():
        changed = read(name, text[: place.start()] + number + text[place.end() :])
        if isinstance(changed, Reading):
            for run in changed.runs:
                assert all(abs(value) < 1e18 for value in run.responses.values() if value is not None)


@pytest.mark.parametrize(("name", "line"), [("pgbench16_N.txt", "progress: 3.0 s"), ("sysbench_hist.txt", "[ 3s ]")])
def test_an_interval_that_ended_after_centuries_is_none(name: str, line: str) -> None:
    text = (SAMPLES / name).read_text()
    assert line in text
    whole, changed = (
        READERS[name](name, text),
        READERS[name](name, text.replace(line, re.sub(r"\d+", "9" * 18, line, count=1))),
    )
    assert isinstance(whole, Reading)
    assert isinstance(changed, Reading)
    assert len(changed.runs[0].series) == len(whole.runs[0].series) - 1
    assert all(each.monotonic_ns < 2**63 for each in changed.runs[0].series), "a record holds 64 bits"


def places(text: str) -> list[re.Match[str]]:
    """The numbers of a text, with their points."""
    return list(re.finditer(r"(?<![\w.])\d+(?:\.\d+)?", text))
