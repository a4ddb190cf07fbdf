"""What benchmarks/noise and planted make of raw records: a planted effect and planted noise come back from them."""

import gzip
import json
import subprocess
from dataclasses import asdict, replace
from math import exp, log
from pathlib import Path
from random import Random
from statistics import stdev

import pytest

from benchmarks.addresses import fixed_addresses, is_fixed
from benchmarks.noise import (
    by_cell,
    contrasts,
    explained,
    false_verdicts,
    identical,
    lengths,
    sequential,
    sources,
    spectra,
    tps,
)
from benchmarks.planted import Known, amount_for, learned, planned, recovered
from benchmarks.time_to_verdict import between_s, lengths_s, table
from benchmarks.turns import Turn, exchange, read


def turns(effect: float = 0.0, machine: float = 0.2, slices: float = 0.01, planted: str = "0/0") -> list[Turn]:
    """Forty blocks of six rounds: the machine changes with the block and, told by the metronome, with the round."""
    source, made = Random(3), []
    for block in range(1, 41):
        speed = source.gauss(0, machine)
        for number in range(1, 7):
            beat = source.gauss(0, 0.05)
            for position, arm in enumerate("ab", start=1):
                tps = 1000 * exp(speed - beat + (effect if arm == "b" else 0.0) + source.gauss(0, slices))
                made.append(
                    Turn("cpu", "usual", planted, block, number, position, arm, block * 10.0 + number, round(tps), 1.0,
                         10.0, 20.0 * exp(-effect if arm == "b" else 0.0), 0.9, 0.0, 0.0,
                         {"metronome_ns": exp(beat)}, (round(tps / 10),) * 10)
                )  # fmt: skip
    return made


def test_turns_take_out_the_machine_and_keep_the_effect() -> None:
    (blocks,) = by_cell(turns(effect=-0.1)).values()
    found = contrasts(blocks, tps)
    assert sum(found) / len(found) == pytest.approx(-0.1, abs=0.003)
    assert stdev(found) == pytest.approx(0.01 * (2 / 6) ** 0.5, rel=0.4)
    assert stdev(sequential(blocks)) == pytest.approx(0.2 * 2**0.5, rel=0.4)
    assert explained(blocks, "metronome_ns") > 0.9


class Told:
    """A server and a player that keep what they were told."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.statements: list[str] = []
        self.played_ms = 0

    def execute(self, statement: str) -> None:
        self.statements.append(statement)

    def play(self, *, duration_ms: int) -> None:
        self.played_ms += duration_ms


def test_servers_exchange_what_is_planted_and_the_arms_names_go_with_it() -> None:
    servers, players = ({arm: Told(f"{kind}-{arm}") for arm in "ab"} for kind in ("server", "player"))
    exchange(servers, players, "delay", (0, 70))  # type: ignore[arg-type]
    assert {arm: (servers[arm].name, players[arm].name) for arm in "ab"} == {
        "a": ("server-b", "player-b"),
        "b": ("server-a", "player-a"),
    }
    assert servers["b"].statements[0] == "ALTER SYSTEM SET commit_delay = 70"
    assert servers["a"].statements[0] == "ALTER SYSTEM SET commit_delay = 0"
    assert all(each.statements[1] == "SELECT pg_reload_conf()" for each in servers.values())
    assert all(each.played_ms > 0 for each in players.values())


def test_tables_are_made_from_records_that_may_be_compressed(tmp_path: Path) -> None:
    known = {"transaction_us": 30.0, "round_us": 0.01}
    burn = amount_for("cpu", 0.1, Known(30.0, 0.01))
    assert 30.0 / (30.0 + burn * 0.01) == pytest.approx(0.9, abs=1e-3)
    made = turns(effect=log(0.9), planted=f"0/{burn}")
    path = tmp_path / "planted.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(each) + "\n" for each in (known, *map(asdict, made)))
    assert read(path) == made
    (row,) = recovered(path)[2:]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[:4] == ["cpu", "usual", "0 %", "40"]
    assert float(cells[4].strip(" %")) == pytest.approx(100 * log(0.9), abs=0.05)
    bias, half = (float(each.strip(" %")) for each in cells[6].split(" ± "))
    assert abs(bias) < 0.5
    assert 0 < half < 0.5
    assert len(sources(made)) == len(spectra(made)) == 3


def test_lengths_of_slices_are_told_apart_and_a_block_that_broke_off_is_left_out() -> None:
    made = [
        replace(turn, slice_ms=length)
        for length, slices in ((400, 0.01), (100, 0.03))
        for turn in turns(0.0, 0.2, slices)
    ]
    short, long = ([cell.strip() for cell in row.strip("|").split("|")] for row in lengths(made[:-1])[2:])
    assert (short[:4], long[:4]) == (["cpu", "usual", "6 of 0.1 s", "39"], ["cpu", "usual", "6 of 0.4 s", "40"])
    assert float(short[5].strip(" %")) == pytest.approx(3 * 2**0.5, rel=0.15), "of one round"
    assert float(short[6].split(" %")[0]) == pytest.approx(3 * (2 / 6) ** 0.5, rel=0.4)
    assert float(long[6].split(" %")[0]) == pytest.approx((2 / 6) ** 0.5, rel=0.4)


def test_identical_servers_are_told_with_their_false_verdicts() -> None:
    (row,) = ([cell.strip() for cell in row.strip("|").split("|")] for row in identical(turns())[2:])
    assert row[:3] == ["cpu", "usual", "40"]
    assert float(row[6].split(" ×")[0]) == pytest.approx(0.2 * 2**0.5 / (0.01 * (2 / 6) ** 0.5), rel=0.4)
    (shifted,) = ([cell.strip() for cell in row.strip("|").split("|")] for row in identical(turns(-0.1))[2:])
    assert shifted[9] == "36 of 36"
    assert int(row[9].split(" of ")[0]) < 10
    assert false_verdicts([0.1, -0.1, 0.1, -0.1, 0.1, 5.0]) == "0 of 2"


def test_a_verdict_comes_sooner_in_turns() -> None:
    made = turns()
    (blocks,) = by_cell(made).values()
    assert between_s(made) == pytest.approx(4.0)
    assert lengths_s(blocks, 4.0) == pytest.approx((12.0 + 4.0, 6.0 + 4.0)), "slices of both arms begin together here"
    (row,) = ([cell.strip() for cell in row.strip("|").split("|")] for row in table(made, 0.1, 200)[2:])
    apart, now, ratio = (float(cell.split()[0]) for cell in row[3:])
    assert now == pytest.approx(5 * 10.0 / 60, abs=0.01)
    assert apart > 20 * 16.0 / 60
    assert ratio == pytest.approx(apart / now, rel=0.01)


def test_a_delay_is_planned_by_how_much_longer_it_really_lasts() -> None:
    known = Known(1000.0, lasts_us={"111": 160.0, "0": 0.0})
    assert amount_for("delay", 0.1, known) == 111
    block = [Turn("delay", "usual", "0/111", 1, 1, 1, "a", 0.0, 500, 1.0, 1.0, 1.0, 0.1, 0.9, 0.0)]
    assert planned("delay", 111, known, block) == pytest.approx(-log(1 + 160 / 2000)), "by this block's own speed"
    assert planned("delay", 0, known, block) == 0.0


def test_what_is_planted_is_learned_from_windows_on_one_server() -> None:
    rounds = [{0: base, 50: base * 1.1 * noise} for base, noise in ((10.0, 1.0), (20.0, 1.02), (40.0, 1 / 1.02))]
    known = learned("cpu", Known(20.0, 0.02), rounds)
    assert known.effects == {"0": 0.0, "50": pytest.approx(-log(1.1))}
    assert known.errors["50"] == pytest.approx(log(1.02) / 3**0.5)
    assert planned("cpu", 50, known, []) == known.effects["50"]
    assert (known.transaction_us, known.round_us) == (20.0, 0.02), "so that the same slow-down is the same amount"
    waited = learned(
        "delay", Known(100.0), [{0: base, 50: base + longer} for base, longer in ((90.0, 59.0), (110.0, 61.0))]
    )
    assert waited.lasts_us["50"] == 60.0
    assert waited.errors["50"] == pytest.approx(1.0 / 100)


def test_no_share_of_misses_is_more_than_all() -> None:
    known = Known(39.0, 0.0134)
    assert planned("read", amount_for("read", 0.2, known), known, []) == pytest.approx(log(0.8), abs=1e-3)
    with pytest.raises(SystemExit, match="less than 30 %"):
        amount_for("read", 0.3, known)


def test_fixed_addresses_are_inherited_and_given_back() -> None:
    def child_is_fixed() -> bool:
        with subprocess.Popen(["sleep", "60"]) as program:
            try:
                return is_fixed(program.pid)
            finally:
                program.kill()

    before = child_is_fixed()
    try:
        with fixed_addresses(True):
            assert child_is_fixed()
    except OSError:
        pytest.skip("personality(2) is not permitted here")
    assert child_is_fixed() == before
    with fixed_addresses(False):
        assert child_is_fixed() == before
