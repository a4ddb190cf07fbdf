"""A run of the study cache with planted times: idx2 recovers at 256 MB, huge pages make recovered probes quicker."""

import random
from pathlib import Path

from pgassay.load.cacheprobe import RESPONSES
from pgassay.record.directory import RunDirectory
from pgassay.record.formats import RunHeader
from pgassay.record.reading import Run
from pgassay.record.values import LevelRecord, Reason, TrialRecord
from pgassay.study import builtin
from pgassay.study.document import Overrides, read, resolve, write
from pgassay.study.parsing import parse_recorded
from pgassay.study.responses import Status

BUFFERS = "server.shared_buffers"
PAGES = "host.huge_pages"
SLOW = {"16MB": 3.0, "64MB": 2.0, "256MB": 1.0}
CACHED = {"16MB": 0.15, "64MB": 0.6, "256MB": 1.0}


def make_run(path: Path, blocks: int = 6) -> Run:
    """Blocks of the quick study; one trial more did not get its huge pages."""
    document = resolve("cache", read("cache", builtin.find("cache")[1]), Overrides(size="quick"))
    study = parse_recorded("cache", document)
    header = RunHeader("cache", "2026-01-02T03:04:05Z", 1, RESPONSES, ("pgassay", "run", "cache-quick"), "0.1.0")
    chance = random.Random("cache")
    with RunDirectory.create(path, header, write(document), {"cpu": {"model": "planted"}}) as run:
        for block in range(1, blocks + 1):
            for arm in study.arms:
                typed = {name: level.typed for name, level in arm.levels.items()}
                _commit(run, block, arm.treatment.name, typed, chance)
        _commit(run, blocks, study.arms[0].treatment.name, {PAGES: "2MB", BUFFERS: "256MB"}, chance, lost=True)
        run.finish("all written")
    return Run.open(path)


def _commit(
    run: RunDirectory, block: int, treatment: str, typed: dict[str, str], chance: random.Random, lost: bool = False
) -> None:
    staging = run.begin_trial(run.next_number)
    size, huge = typed[BUFFERS], typed[PAGES] != "none"
    idx1 = (0.07 if huge else 0.10) * (1 + chance.gauss(0, 0.02))
    slowdown = SLOW[size] * (1 + chance.gauss(0, 0.02))
    found: dict[str, float | None] = {
        "idx1_ms": idx1, "idx1_trimmed_ms": idx1, "seq_ms": 1500.0 * (1 + chance.gauss(0, 0.02)),
        "idx2_ms": idx1 * slowdown, "idx2_trimmed_ms": idx1 * slowdown, "idx2_slowdown": slowdown,
        "probes_ms": idx1 * (1 + slowdown) / 2, "heap_blks_read": 131072.0, "heap_blks_hit": 30.0,
        "idx_blks_read": 175.0, "idx_blks_hit": 428.0, "huge_pages": 140.0 if huge else 0.0,
        "index_buffers_warm_share": CACHED[size],
        "index_buffers_scan_share": CACHED[size], "index_page_cache_warm_share": 1.0,
        "index_page_cache_scan_share": 0.0,
        "heap_page_cache_warm_share": 0.3, "heap_page_cache_scan_share": 0.4, "heap_buffers_warm_share": 0.0,
        "heap_buffers_scan_share": 0.0,
    }  # fmt: skip
    record = TrialRecord(
        number=staging.number,
        block=block,
        attempt=1,
        treatment=treatment,
        condition="",
        covariate="",
        levels={name: LevelRecord(level, level, level) for name, level in typed.items()},
        status=Status.OUTCOME if lost else Status.VALID,
        started_wall_ns=1_700_000_000 * 10**9,
        finished_wall_ns=(1_700_000_000 + staging.number) * 10**9,
        responses={} if lost else found,
        regime={"checkpoint": "none", "checkpoint_words": "the burst after a checkpoint", "cache": "cold"},
        reasons=(Reason("hugepage_error", "wanted 140 huge pages of 2MB, this machine gave 3"),) if lost else (),
    )
    run.commit_trial(staging, record, ())
