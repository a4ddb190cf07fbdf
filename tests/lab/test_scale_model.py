"""Scale models of real studies: what is left open is written out, numbers are kept, bad scales are refused."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pgassay._core import FlashDrive, FlashInput
from pgassay.drive.options import USUAL_PAGES
from pgassay.errors import UsageError
from pgassay.lab.arms import setup_of
from pgassay.lab.catalogue import every_factor
from pgassay.lab.run import recorded_study, write_study
from pgassay.lab.scale_model import AT_MOST, BY_TIME, CHOSEN, PAGES, SUPERBLOCK, Machine, _alike
from pgassay.lab.settings import process_bytes
from pgassay.postgres.settings import SIZES
from pgassay.study import builtin
from pgassay.study.document import Document, Overrides, read
from pgassay.study.model import Study
from pgassay.study.parsing import parse, parse_recorded
from pgassay.study.scale_model import ScaleModel, parse_model, to_table
from pgassay.study.units import parse_memory

AS_PUBLISHED = "as-published"


@pytest.fixture(autouse=True)
def _two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of 2 cores and 16 GB, whatever this one is."""
    monkeypatch.setattr(Machine, "here", classmethod(lambda cls: Machine(2, 16 << 30)))


def shrunk(name: str, levels: Sequence[str] = (), fixed: Sequence[str] = (), **scale: str) -> Study:
    document = read(name, builtin.find(name)[1])
    overrides = Overrides(size=AS_PUBLISHED, levels=levels, fixed=fixed, **scale)  # type: ignore[arg-type]
    return write_study(name, document, overrides).study


def model_of(study: Study) -> ScaleModel:
    assert study.model is not None
    return study.model


def small(**tables: Mapping[str, Any]) -> Document:
    usual: Document = {
        "factors": {"server.work_mem": ["4MB", "64MB"]},
        "load": {"scale": 1000, "duration": "10s"},
    }
    return {**usual, **tables}


def test_the_tpcc_study_keeps_its_numbers() -> None:
    study = shrunk("tpcc-fillfactor", scale="1/250")
    model = model_of(study)
    fixed = {name: level.typed for name, level in study.fixed.items()}
    assert [each.typed for each in study.conditions["load.warehouses"]] == ["28", "54"]
    assert (fixed["host.memory"], fixed["server.shared_buffers"]) == ("1049MB", "268432kB")
    assert (fixed["load.clients"], fixed["drive.data.capacity"]) == ("4", "auto")
    notes = {each.factor: each.note for each in model.resized}
    assert notes["host.memory"] == f"{CHOSEN}; with 56MB more for the server's processes, which do not shrink"
    assert notes["server.shared_buffers"] == ""
    kept = {each.name: each.kept for each in model.likeness}
    for name in ("data ÷ memory", "shared_buffers ÷ memory", "data ÷ shared_buffers", "over-provisioning"):
        assert kept[name] is True, name
    assert kept["clients ÷ core"] is True
    assert kept["load.warehouses ÷ client"] is False, "fewer warehouses for each client: more conflicts"
    assert kept["WAL a checkpoint ÷ shared_buffers"] is None, "max_wal_size is ours, so that time starts them"
    assert BY_TIME in {each.note for each in model.likeness}
    assert study.fixed["load.duration"].typed == "600s", "a time is no size"


def test_the_room_for_an_emulated_drives_contents_is_this_machines_and_does_not_shrink() -> None:
    document = small(fixed={"drive.data": "csd", "drive.data.capacity": "16GB", "drive.data.store_bytes": "8GB"})
    study = write_study("mine", document, Overrides(scale="1/8")).study
    fixed = {name: level.typed for name, level in study.fixed.items()}
    assert (fixed["drive.data.capacity"], fixed["drive.data.store_bytes"]) == ("2GB", "8GB")


def test_the_largest_data_get_the_size_that_is_asked_for() -> None:
    study = shrunk("fillfactor-drive", scale_to="4GB", levels=["load.threads=4"])
    model = model_of(study)
    limits = {each.factor: each.note for each in model.resized if each.note}
    assert limits["server.max_wal_size"] == "no less than 32MB"
    data, buffers = (
        next(each.model for each in model.likeness if each.name == name)
        for name in ("data ÷ memory", "shared_buffers ÷ memory")
    )
    assert data is not None
    assert buffers is not None
    assert study.fixed["host.memory"].typed == "281MB", "and the processes' on top"
    assert data[1] * 281 == pytest.approx(4096, rel=0.01), "281 MB cache"


def limits_of(study: Study) -> Mapping[tuple[str, str], int]:
    """What each arm's server may have, MB, by scenario and threads."""
    catalogue = every_factor()
    found = {}
    for arm in study.arms:
        levels = {name: level.typed for name, level in study.levels_of(arm).items()}
        memory_bytes = setup_of(study, arm, catalogue).memory_bytes
        assert memory_bytes is not None
        found[levels["load.scenario"], levels["load.threads"]] = memory_bytes >> 20
    return found


def test_memory_is_kept_for_what_it_caches_and_each_arms_processes_come_on_top() -> None:
    """At 1:3725 four sessions on 200 tables took 40 of 70 MB, and the kernel ended every server.

    With one allowance for all arms it ended those of 32 threads of oltp_write_only (16 MB each), and one thread had the
    memory of 32.
    """
    study = shrunk("fillfactor-drive", ["load.scenario=oltp_update_non_index,oltp_read_write"], scale_to="1GB")
    assert study.fixed["host.memory"].typed == "70MB"
    limits = limits_of(study)
    most = max(int(threads) for _, threads in limits)
    assert limits["oltp_update_non_index", "1"] - 70 - 24 == pytest.approx(7.5, abs=1)
    assert limits["oltp_read_write", "1"] - 70 - 24 == pytest.approx(36, abs=1)
    assert limits["oltp_read_write", str(most)] - 70 - 24 == pytest.approx(36 * most, rel=0.03)
    kept = {each.name: each.kept for each in model_of(study).likeness}
    assert kept["data ÷ memory"] is True
    (memory,) = (each for each in model_of(study).resized if each.factor == "host.memory")
    assert (memory.original, memory.model) == ("256GB", "70MB")
    assert " to " in memory.note
    assert memory.note.endswith("more for the server's processes, which do not shrink")


def test_a_load_that_goes_by_the_memory_goes_by_what_is_to_scale() -> None:
    """With the processes' share its table was 170 MB in a model of 100 MB, and data ÷ memory was not kept."""
    study = shrunk("cache", fixed=["load.size=2x", "host.memory=4GB"], scale_to="100MB")
    memory_bytes = parse_memory(study.fixed["host.memory"].typed)
    setup = setup_of(study, study.arms[0], every_factor())
    assert setup.load.memory_bytes == memory_bytes
    assert setup.memory_bytes == memory_bytes + process_bytes(setup.load)
    assert setup.load.estimated_bytes() == pytest.approx(100e6, rel=0.1)


def test_a_record_of_a_model_says_whether_processes_come_on_top() -> None:
    """Models of before had them inside `host.memory`, and go on with what they began with."""
    study = shrunk("fillfactor-drive", scale_to="1GB")
    model = model_of(study)
    assert parse_model(to_table(model)) == model
    assert model.processes_beside
    before = replace(study, model=replace(model, processes_beside=False))
    assert not parse_model(to_table(before.model or model)).processes_beside
    assert set(limits_of(before).values()) == {70}
    assert set(limits_of(replace(study, model=None)).values()) == {70}


def test_connections_that_nobody_opens_take_no_memory_of_a_model() -> None:
    """At 1:4768 room for 1000 of them took half of host.memory, and the kernel ended every server."""
    study = shrunk("fillfactor-drive", scale_to="1GB")
    assert study.fixed["server.max_connections"].typed == "148", "128 threads and a reserve"
    (found,) = (each for each in model_of(study).resized if each.factor == "server.max_connections")
    assert (found.original, found.model) == ("1000", "148")
    assert "does not shrink" in found.note
    few = write_study("x", small(fixed={"server.max_connections": "60"}), Overrides(scale="1/4")).study
    assert few.fixed["server.max_connections"].typed == "60", "no more than was asked for"
    for text in ("9" * 5000, "²"):
        odd = write_study("x", small(fixed={"server.max_connections": text}), Overrides(scale="1/4")).study
        assert odd.fixed["server.max_connections"].typed == text, "the server refuses it, in its own words"


@pytest.mark.parametrize("name", ["page-size", "fillfactor", "fillfactor-sysbench", "cache", "disk", "cores"])
def test_other_studies_have_models_too(name: str) -> None:
    study = shrunk(name, scale="1/20")
    assert model_of(study).resized
    assert len(study.arms) > 1


@pytest.mark.parametrize(
    ("original", "model", "kept"),
    [
        (2.7e-5, 1 / 1024, True),
        (2.7e-5, 1 / 1023, False),
        (1 / 512, 1 / 1024, False),
        (1 / 512, 1 / 500, True),
        (None, 1 / 1024, None),
    ],
)
def test_superblocks_are_kept_where_both_drives_have_enough_of_them(
    original: float | None, model: float, kept: bool | None
) -> None:
    """The original is a drive of terabytes with superblocks of 64 MB at most; no model has as small a share."""
    assert _alike(SUPERBLOCK, [original], [model]).kept is kept
    other = _alike(("another number", ""), [original], [model]).kept
    assert other == (None if original is None else abs(model / original - 1) <= 0.1)


@pytest.mark.parametrize("name", ["tpcc-fillfactor", "fillfactor-drive", "wal-drive"])
def test_drives_sized_by_their_data_have_superblocks_enough_but_small_ones(name: str) -> None:
    found = {each.name: each for each in model_of(shrunk(name, scale_to="500MB")).likeness}
    assert found[SUPERBLOCK[0]].kept is True, found
    assert (found[PAGES[0]].original, found[PAGES[0]].kept) == ((16384, 16384), False)


@pytest.mark.parametrize(
    ("fixed", "original", "model", "kept"),
    [
        (("drive.data.capacity=4TB",), 1 / (4 << 20), 1 / 512, False),
        (("drive.data.capacity=64TB",), 1 / (64 << 20), 1 / 8192, True),
        (("drive.data.capacity=4TB", "drive.timing=sata-ssd"), None, None, None),
    ],
)
def test_superblocks_of_a_drive_of_given_capacity_are_known_and_do_not_shrink(
    fixed: Sequence[str], original: float | None, model: float | None, kept: bool | None
) -> None:
    assert FlashDrive({"user_bytes": 1 << 30}).pages_per_block == USUAL_PAGES
    found = {each.name: each for each in model_of(shrunk("wal-drive", scale="1/8192", fixed=fixed)).likeness}
    share, pages = found[SUPERBLOCK[0]], found[PAGES[0]]
    assert [side and side[1] for side in (share.original, share.model)] == [original, model]
    assert share.kept is kept
    assert (pages.original, pages.kept) == (((256, 256), True) if original else (None, None))


@pytest.mark.parametrize(("pages", "told"), [("pages_per_block = 512", 512), ("channels = 8", None)])
def test_superblocks_of_a_description_are_told_as_it_says(tmp_path: Path, pages: str, told: int | None) -> None:
    path = tmp_path / "flash.toml"
    path.write_text(f"[drive]\n{pages}\n", encoding="utf-8")
    study = shrunk("wal-drive", scale_to="650MB", fixed=[f"drive.data={path}", "drive.data.capacity=4TB"])
    (found,) = (each for each in model_of(study).likeness if each.name == PAGES[0])
    assert found.model == (None if told is None else (told, told))


@pytest.mark.parametrize(("model", "kept"), [(512, True), (511, False)])
def test_superblocks_of_many_pages_are_kept_whatever_the_originals_have(model: float, kept: bool) -> None:
    assert _alike(PAGES, [16384], [model]).kept is kept


def test_superblocks_of_32_pages_collect_less_than_larger_ones() -> None:
    """A twentieth and more, which the number of superblocks alone does not tell: there are 1,024 of either and more."""
    few, many = (_write_amplification(pages) for pages in (32, 256))
    assert few / many == pytest.approx(0.945, abs=0.01)


def _write_amplification(pages: int) -> float:
    """Under uniform writes on 1 GB at an over-provisioning of 28 %."""
    drive = FlashDrive({"user_bytes": 1 << 30, "over_provisioning": 0.28, "pages_per_block": pages})
    load = FlashInput(drive.logical_blocks, [{"share_of_writes": 1.0, "pattern": "uniform"}])
    drive.fill(load)
    drive.apply(load, 3 * drive.logical_blocks)
    before = drive.counters()
    drive.apply(load, drive.logical_blocks)
    after = drive.counters()
    nand, host = (after[name] - before[name] for name in ("nand_bytes_written", "host_bytes_written"))
    return nand / host


def test_superblocks_of_a_profile_of_timing_are_not_told_as_ours() -> None:
    study = shrunk("tpcc-fillfactor", scale="1/250", fixed=["drive.timing=sata-ssd"])
    (found,) = (each for each in model_of(study).likeness if each.name == "superblock ÷ drive")
    assert (found.original, found.model, found.kept) == (None, None, None)


def test_a_max_wal_size_of_the_study_starts_checkpoints_whatever_time_does() -> None:
    """It is never replaced by the 16 GB that leave checkpoints to time."""
    model = model_of(shrunk("fillfactor-drive", scale_to="500MB", levels=["load.threads=4"]))
    found = {each.name: each for each in model.likeness}
    for name, original in (("WAL a checkpoint ÷ shared_buffers", 0.5 / 64), ("WAL a checkpoint ÷ data", 0.5 / 2794)):
        likeness = found[name]
        assert likeness.original is not None
        assert likeness.model is not None
        assert likeness.original[1] == pytest.approx(original, rel=0.01), name
        assert likeness.model[0] > 100 * likeness.original[0], "no less than 32 MB"
        assert (likeness.kept, likeness.note) == (False, AT_MOST)


def test_what_the_page_says_of_the_model_of_wal_drive_is_what_its_plan_says() -> None:
    model = model_of(shrunk("wal-drive", scale_to="500MB", levels=["load.threads=1,32"]))
    times = {each.name: each.model[1] / each.original[1] for each in model.likeness if each.model and each.original}
    named = ("WAL a checkpoint ÷ shared_buffers", "WAL a checkpoint ÷ data")
    assert [round(times[name], -1) for name in named] == [180, 180]
    apart = {name: max(each, 1 / each) for name, each in times.items()}
    assert {*sorted(apart, key=lambda name: apart[name])[-3:]} == {*named, "load.rows ÷ client"}
    page = Path(__file__).parents[2] / "docs" / "evidence" / "published-studies.md"
    said = " ".join(page.read_text(encoding="utf-8").split())
    assert said.count("along with rows ÷ client") == 2
    assert said.count("180 times") == 2


@pytest.mark.parametrize(
    ("name", "scale_to", "number", "original", "model"),
    [
        ("wal-drive", "500MB", "data ÷ memory", 10.95, 10.95),
        ("cache", "1GB", "data ÷ memory", 1.07, 1.07),
        ("cache", "1GB", "clients ÷ core", 1 / 8, 1 / 2),
        ("cores", "1GB", "clients ÷ core", 38 / 20, 4 / 2),
    ],
)
def test_what_the_authors_had_is_known(name: str, scale_to: str, number: str, original: float, model: float) -> None:
    levels = ["load.threads=32"] if name == "wal-drive" else []
    study = shrunk(name, scale_to=scale_to, levels=levels)
    (found,) = (each for each in model_of(study).likeness if each.name == number)
    assert found.original is not None
    assert found.model is not None
    assert (found.original[1], found.model[1]) == pytest.approx((original, model), rel=0.01)


def test_clients_of_the_cores_study_go_by_the_cores() -> None:
    clients = shrunk("cores", scale_to="1GB").covariates["load.clients"]
    assert [each.typed for each in clients] == ["1", "2", "3", "4"], "1 to 38 on 20 cores"


def test_a_disk_has_no_superblocks() -> None:
    fixed = {"drive.data": "ssd", "drive.data.capacity": "4GB", "drive.timing": "hdd-7200"}
    study = write_study("x", small(fixed=fixed), Overrides(scale="1/4")).study
    assert {each.model for each in model_of(study).likeness if each.name in (SUPERBLOCK[0], PAGES[0])} == {None}


def test_stock_sizes_shrink_with_the_data() -> None:
    study = write_study("x", small(load={"scale": 1000, "checkpoint": "wal"}), Overrides(scale="1/4")).study
    fixed = {name: level.typed for name, level in study.fixed.items()}
    assert fixed["server.shared_buffers"] == "32MB", "128MB by default"
    assert fixed["server.max_wal_size"] == "32MB", "128MB by load.checkpoint"
    assert fixed["load.scale"] == "250"
    kept = {each.name: each.kept for each in model_of(study).likeness}
    assert kept["WAL a checkpoint ÷ shared_buffers"] is True


@pytest.mark.parametrize(
    ("scale", "words"),
    [
        ({"scale": "0"}, "makes no model"),
        ({"scale": "-1/250"}, "makes no model"),
        ({"scale": "2"}, "would enlarge"),
        ({"scale": "1/20000"}, "leaves too little data: 0.35 of load.warehouses=7000"),
        ({"scale_to": "100TB"}, "would not be smaller"),
        ({"scale": "1/1.0001"}, "makes no model"),
        ({"scale_to": "0GB"}, "a size above 0"),
        ({"scale_to": "4"}, "amount of memory"),
    ],
)
def test_what_makes_no_model_is_refused(scale: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        shrunk("tpcc-fillfactor", **scale)


@pytest.mark.parametrize("load", [{"init": "ours.sql"}, {"clients": 2}])
def test_data_of_unknown_size_have_no_model(load: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="no scale model"):
        write_study("x", small(load=load), Overrides(scale="1/4"))


def test_a_study_file_asks_for_its_model_and_a_resumed_run_shrinks_nothing_again() -> None:
    written = write_study("x", small(scale={"by": "1/4", "memory": "8GB"}))
    assert model_of(written.study).by == 4
    again = tomllib.loads(recorded_study(written.study, written.document))
    assert parse("x", again, every_factor()).fixed["load.scale"].typed == "250"
    assert parse_recorded("x", again).model == written.study.model
    assert model_of(write_study("x", again).study) == written.study.model
    plain = write_study("x", small(scale={"memory": "8GB"})).study
    assert plain.model is None
    assert plain.fixed["load.scale"].typed == "1000"


SIZED = [
    *(each.pattern for each in every_factor().all() if "*" not in each.pattern and each.size(each.pattern)),
    *(f"server.{name}" for name in SIZES),
]


@pytest.mark.parametrize("name", SIZED)
def test_a_shrunk_level_is_one_that_the_factor_takes(name: str) -> None:
    factor = every_factor().find(name)
    assert factor is not None
    size = factor.size(name)
    assert size is not None
    for text in ("64GB", "2000000", "75000000rows"):
        try:
            factor.parse(name, text)
        except UsageError:
            continue
        for by in (1.5, 250.0, 1e9):
            found = size.shrunk(text, by)
            assert found is not None, text
            assert factor.parse(name, found.typed).canonical
        return
    pytest.fail("no sample is a level of this factor")


def test_a_size_that_is_nearly_the_studys_own_makes_no_model() -> None:
    data = model_of(write_study("x", small(), Overrides(scale_to="1GB")).study).by * (1 << 30)
    assert model_of(write_study("x", small(), Overrides(scale_to=f"{data / 1.01:.0f}B")).study).times == "1.01"
    with pytest.raises(UsageError, match="would not be smaller"):
        write_study("x", small(), Overrides(scale_to=f"{data / 1.0001:.0f}B"))
