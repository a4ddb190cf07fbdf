"""Runs of the built-in study power-cut with planted cuts: sound ones, damaging ones, and some on a drive that lies."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pgassay.analysis.power_cuts import KINDS, ServerAtCut
from pgassay.lab.power_cuts import RESPONSES, summed
from pgassay.record.directory import RunDirectory
from pgassay.record.formats import RunHeader
from pgassay.record.power_cuts import FILE, CutRecord, encode
from pgassay.record.reading import Run
from pgassay.record.trials import trial_path
from pgassay.record.values import LevelRecord, TrialRecord
from pgassay.study import builtin
from pgassay.study.document import Overrides, read, resolve, write
from pgassay.study.levels import Arm
from pgassay.study.parsing import parse_recorded
from pgassay.study.responses import Better, Response, Status

BLOCKS, CUTS = 5, 12
PAGE = {
    "block": 9, "bytes": 8192, "old_lsn": 1 << 32, "new_lsn": (1 << 32) + 255, "sectors": [255, 0],
    "changed": [1, 128], "torn": True,
}  # fmt: skip
MET = ServerAtCut(2, in_checkpoint=True, recycled_wal=True, written=tuple(KINDS))
SOUND = CutRecord(1, 1, 1, "all", 1, 2, 4, 1, 1, 0.5, 900.0, "sound", recovery_ms=70.0, ledger=True, page=PAGE,
                  met=MET, strip=[[9, 2, 1], [20, 2, 2]])  # fmt: skip
TORN = replace(SOUND, verdict="damaged_page", detail="invalid page in block 3 of relation base/5/16396",
               recovery_ms=None)  # fmt: skip
LOST = replace(SOUND, verdict="lost_commits", detail="12 acknowledged commits are missing")
Plan = Callable[[Arm], Sequence[CutRecord]]


def planted(arm: Arm) -> Sequence[CutRecord]:
    """Pages are torn without full-page images, except on a drive that writes 16 kB whole; a lie loses commits."""
    levels = {name: level.typed for name, level in arm.levels.items()}
    cuts = [replace(SOUND, number=place, epoch=3 * place) for place in range(1, CUTS + 1)]
    if levels["server.fsync"] == "off" or levels["drive.flush"] != "honest":
        cuts[1::2] = [replace(LOST, number=each.number, epoch=each.epoch) for each in cuts[1::2]]
    elif levels["server.full_page_writes"] == "off" and levels["drive.atomic_write_bytes"] == "4096":
        cuts[2] = replace(TORN, number=3, epoch=9)
    if levels["drive.atomic_write_bytes"] == "16384":
        cuts = [replace(each, page={**PAGE, "sectors": [255, 255], "torn": False}) for each in cuts]
    return cuts


def make_cuts(
    path: Path,
    plan: Plan = planted,
    *,
    primary: str = "unsafe_cuts",
    design: Mapping[str, str | int] | None = None,
    blocks: int = BLOCKS,
    discarded: int = 0,
) -> Run:
    """`plan` gives the cuts of each arm's trials; a run of fewer than five blocks goes on. Those of one block may be
    `discarded`, because other programs were busy.
    """
    asked = Overrides(size="quick", primary=primary, design=dict(design or {}))
    written = resolve("power-cut", read("power-cut", builtin.find("power-cut")[1]), asked)
    tps = Response("tps", "transactions per second", "1/s", Better.HIGHER)
    header = RunHeader("power-cut", "2026-01-02T03:04:05Z", 1, (*RESPONSES, tps), ("pgassay", "run"), "0.1.0")
    with RunDirectory.create(path, header, write(written), {}) as run:
        for block in range(1, blocks + 1):
            for place, arm in enumerate(parse_recorded("power-cut", written).arms):
                status = Status.INVALID if block == discarded else Status.VALID
                _commit(run, block, place, arm, plan(arm), status)
        if blocks == BLOCKS:
            run.finish("blocks.max is reached")
    return Run.open(path)


def _commit(run: RunDirectory, block: int, place: int, arm: Arm, cuts: Sequence[CutRecord], status: Status) -> None:
    staging = run.begin_trial(run.next_number)
    record = TrialRecord(
        staging.number, block, 1, *arm.place, started_wall_ns=0, finished_wall_ns=10**9, status=status,
        levels={name: LevelRecord(each.typed, each.canonical) for name, each in arm.levels.items()},
        responses={**summed(cuts, arm.levels["drive.flush"].typed), "tps": 1000.0 + 10 * place + block},
    )  # fmt: skip
    run.commit_trial(staging, record, [])
    (trial_path(run.path, staging.number) / FILE).write_bytes(encode(cuts))
