"""Every built-in study, in every size, names only factors and levels that this bench knows, and claims to be met."""

import re

import pytest

from pgassay.analysis.claims import is_paired, missing_levels, needed_parts, sides, treatment_of
from pgassay.design.risk import UNSAFE
from pgassay.interfaces.versions import OLDEST
from pgassay.lab.arms import setup_of
from pgassay.lab.catalogue import every_factor
from pgassay.lab.settings import mode_of, pinned_by_regime
from pgassay.load.pgbench.options import OURS, PgbenchOptions, check_scripts, check_variables
from pgassay.probe.registry import Probes
from pgassay.study import builtin
from pgassay.study.document import SIZES, Overrides, read, resolve
from pgassay.study.model import Claim, Study
from pgassay.study.parsing import parse
from pgassay.study.responses import Scale
from pgassay.study.units import parse_memory
from tests.system.test_quick_studies import BUILT, STUDIES, VERSIONS

SIZED = [(name, size) for name in builtin.names() for size in ("", *SIZES)]


def study_of(name: str, size: str) -> Study:
    document = read(name, builtin.find(name)[1])
    return parse(name, resolve(name, document, Overrides(size=size)), every_factor())


@pytest.mark.parametrize(("name", "size"), SIZED)
def test_it_parses_in_this_size(name: str, size: str) -> None:
    study = study_of(name, size)
    least = 3 if study.primary == UNSAFE else 5
    assert study.design.blocks_min >= least, "no comparison comes from fewer than five; a power cut is judged by itself"
    assert len(study.treatments) > 1 or study.covariates


@pytest.mark.parametrize(("name", "version"), [("page-size", "9.4"), ("page-size-costs", "9.4"), ("cores", "12")])
def test_a_version_that_is_not_served_is_named_as_published_alone(name: str, version: str) -> None:
    sizes = {size: study_of(name, size).differs for size in ("", *SIZES)}
    (said,) = sizes.pop("as-published")
    assert said.startswith(f"PostgreSQL {version}: ")
    assert f"PostgreSQL {OLDEST} and later" in said
    assert int(version.partition(".")[0]) < OLDEST
    assert set(sizes.values()) == {()}


def test_the_cache_study_reboots_as_published_alone() -> None:
    assert [study_of("cache", size).design.reboots for size in ("", *SIZES)] == [False, False, True]


def test_each_is_run_by_a_slow_test() -> None:
    assert sorted([*STUDIES, *BUILT, *VERSIONS]) == sorted(builtin.names())


@pytest.mark.parametrize("name", builtin.names())
def test_every_testable_claim_meets_an_arm_of_some_size(name: str) -> None:
    """A level misspelt in a claim would leave it untestable for ever, without a word; --set gives levels of others."""
    sizes = [study_of(name, size) for size in ("", *SIZES)]
    known = [
        {f"{factor}={level.typed}" for factor, level in arm.levels.items()} for study in sizes for arm in study.arms
    ]
    varied = {factor for study in sizes for arm in study.arms for factor in arm.levels}
    for claim in sizes[0].claims:
        for levels in (claim.treatment, claim.against, *claim.than):
            settable = {factor: typed for factor, typed in levels.items() if factor not in varied}
            for factor, typed in settable.items():
                found = every_factor().find(factor)
                assert found is not None, (claim.text, factor)
                assert found.parse(factor, typed).typed == typed, claim.text
            parts = {f"{factor}={typed}" for factor, typed in levels.items() if factor not in settable}
            assert claim.untestable or any(parts <= arm for arm in known), (claim.text, levels)


@pytest.mark.parametrize(("name", "size"), SIZED)
def test_a_size_tests_what_it_can_and_says_of_the_rest_which_level_is_missing(name: str, size: str) -> None:
    study = study_of(name, size)
    open_claims = [claim for claim in study.claims if not claim.untestable]
    for claim in open_claims:
        absent = missing_levels(claim, study)
        needed = needed_parts(claim.treatment, study)
        met = any(needed <= set(arm.name.split(", ")) for arm in study.arms)
        if is_paired(claim, study):
            against = sides(claim, study) is not None
        else:
            against = not claim.against or treatment_of(claim.against, study) is not None
        assert absent or (met and against), f"no arm of this size: {claim.text}"
    assert not open_claims or any(not missing_levels(claim, study) for claim in open_claims), "none can be tested"


SYSBENCH_ARTICLE = {
    "server.shared_buffers": "64GB",
    "server.maintenance_work_mem": "1GB",
    "server.bgwriter_delay": "20ms",
    "server.max_wal_size": "1GB",
    "server.max_connections": "1000",
}


@pytest.mark.parametrize("name", ["fillfactor-sysbench", "fillfactor-drive", "wal-drive"])
def test_the_published_settings_of_the_sysbench_article_are_all_there(name: str) -> None:
    fixed = study_of(name, "as-published").fixed
    assert {setting: fixed[setting].typed for setting in SYSBENCH_ARTICLE if setting in fixed} == SYSBENCH_ARTICLE


@pytest.mark.parametrize("name", builtin.names())
def test_what_authors_do_not_give_is_marked_as_ours(name: str) -> None:
    study = study_of(name, "as-published")
    levels = {factor for arm in study.arms for factor in study.levels_of(arm)}
    assert set(study.ours) <= levels, "only what this size has"
    assert not study_of(name, "").ours, "the default size is ours as a whole"
    if name in ("fillfactor", "fillfactor-sysbench", "fillfactor-drive", "wal-drive", "tpcc-fillfactor"):
        assert {"load.duration", "load.warmup"} <= set(study.ours), "no length of a run is published"


@pytest.mark.parametrize("name", ["page-size", "cores"])
def test_where_authors_left_checkpoints_to_the_server_nothing_pins_them(name: str) -> None:
    study = study_of(name, "as-published")
    for arm in study.arms:
        setup = setup_of(study, arm, every_factor())
        assert pinned_by_regime(mode_of(setup.load), setup.load.timed_s, setup.settings) == {}


def test_the_disk_study_has_the_memory_of_its_authors_as_published_alone() -> None:
    """They cut their machine's to 2 GB for these runs, from 64 GB."""
    held = {size: study_of("disk", size).fixed.get("host.memory") for size in ("", *SIZES)}
    (published,) = (level for size, level in held.items() if size == "as-published")
    assert published is not None
    assert published.typed == "2GB"
    assert [level for size, level in held.items() if size != "as-published"] == [None, None]


DAMAGE = "unsafe_cuts"
FITTED = {"kink_per_core": None, "smt_gain": 0.0, "smt_gain_of_yardstick": 0.0}
"""Figures of a fit, and which of their values is no effect."""
FIGURE = re.compile(
    r"\d %|ms against|\d times|a third\b|a quarter\b|a fifth\b|1/\d|by half|\bfar (more|fewer|less) \w+ (updates|reads)"
)
NO_DIFFERENCE = re.compile(r"\bwithin \d|not gain noticeably|costs little|takes far less")


def no_effect_of(claim: Claim) -> float | None:
    if claim.response in FITTED:
        return FITTED[claim.response]
    differences = {each.name for each in Probes().responses if each.scale is Scale.DIFFERENCE}
    return 0.0 if claim.response in differences else 1.0


@pytest.mark.parametrize(("name", "size"), SIZED)
def test_the_words_of_a_claim_and_its_band_agree(name: str, size: str) -> None:
    """A figure is published with an effect, which the band is around; no effect at all never reproduces it."""
    for claim in study_of(name, size).claims:
        if claim.untestable or claim.response == DAMAGE:
            continue
        none, low, high = no_effect_of(claim), claim.low, claim.high
        if FIGURE.search(f"{claim.text} {claim.published}") and not NO_DIFFERENCE.search(claim.text):
            assert claim.magnitude is not None, f"a figure, but no magnitude: {claim.text} ({claim.published})"
        if claim.magnitude is not None and none is not None:
            nearest = low if claim.magnitude > none else high
            assert nearest is not None, f"open towards no effect: {claim.text}"
            assert (nearest > none) == (claim.magnitude > none), f"no effect reproduces it: {claim.text}"
            assert nearest != none, f"no effect reproduces it: {claim.text}"
        elif none is not None and not NO_DIFFERENCE.search(claim.text):
            assert none in (low, high), f"a direction is all on one side of no effect: {claim.text}"


@pytest.mark.parametrize(("name", "size"), SIZED)
def test_a_band_is_from_the_square_root_of_what_was_published_to_its_power_of_three_halves(
    name: str, size: str
) -> None:
    """Unless the claim itself has a limit; docs/statistics.md says so."""
    for claim in study_of(name, size).claims:
        if (
            claim.magnitude is None
            or claim.response in FITTED
            or re.search(r"at least|more than|less than", claim.text)
        ):
            continue
        ends = sorted((claim.magnitude**0.5, claim.magnitude**1.5))
        assert claim.low == pytest.approx(ends[0], abs=0.006), claim.text
        assert claim.high == pytest.approx(ends[1], abs=0.006), claim.text


@pytest.mark.parametrize("name", builtin.names())
def test_a_claim_about_damage_says_which_share_of_cuts_would_contradict_it(name: str) -> None:
    for claim in study_of(name, "").claims:
        if claim.response == DAMAGE:
            assert (claim.low is None) != (claim.high is None), claim.text
            assert 0 < (claim.low or claim.high or 0) < 0.1, claim.text


@pytest.mark.parametrize("name", builtin.names())
def test_the_reasons_of_claims_name_responses_that_are_measured(name: str) -> None:
    study = study_of(name, "")
    known = {study.primary, *study.secondary, *(response.name for response in Probes().responses)}
    for claim in study.claims:
        assert set(re.findall(r"\{([a-z0-9_]+)\}", claim.otherwise)) <= known, claim.text


def test_each_script_of_ours_is_the_load_of_a_study_that_gives_its_variables_values() -> None:
    used = set[str]()
    for name, size in SIZED:
        study = study_of(name, size)
        for arm in study.arms:
            load = setup_of(study, arm, every_factor()).load
            if isinstance(load, PgbenchOptions):
                check_scripts(load.scripts)
                check_variables(load)
                used |= {script.name for script in load.scripts}
    assert used >= OURS.keys()


def test_page_and_wal_block_are_crossed_in_every_size_of_wal_block() -> None:
    for size in ("", *SIZES):
        study = study_of("wal-block", size)
        pages, blocks = (len(study.factors[f"build.{each}"]) for each in ("block_size", "wal_block_size"))
        assert len(study.treatments) == pages * blocks >= 4


def test_the_wide_study_has_narrow_and_wide_rows_in_and_out_of_line_inside_and_beyond_memory() -> None:
    study = study_of("page-size-wide", "")
    assert len(study.factors["build.block_size"]) == 6
    points = [{name: level.typed for name, level in arm.condition.levels.items()} for arm in study.arms]
    for script in ("simple-update", "select-only"):
        mine = [point for point in points if point["load.script"] == script]
        assert {(point["load.row_bytes"], point["host.memory"]) for point in mine} >= {("100", "all"), ("100", "256MB")}
        wide = {(point["load.row_bytes"], point["load.row_storage"]) for point in mine}
        assert wide >= {(width, storage) for width in ("1000", "4000") for storage in ("plain", "toasted")}


@pytest.mark.parametrize("size", ["", *SIZES])
def test_buffers_let_a_scan_read_ahead_as_far_as_io_method_asks(size: str) -> None:
    """A backend may pin its share of the buffers: read_stream.c, and MaxProportionalPins of bufmgr.c, in 18."""
    backends, auxiliary, pages_each = 100 + 16 + 8 + 10 + 2, 6 + 32, 16
    buffers = study_of("io-method", size).fixed["server.shared_buffers"]
    assert parse_memory(buffers.canonical) / 8192 / (backends + auxiliary) >= (16 + 1) * pages_each
