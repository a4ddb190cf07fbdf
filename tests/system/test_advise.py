"""`pgassay advise` on a real PostgreSQL: a plan of few settings, what is known of all, a batch with one refused."""

from collections.abc import Mapping
from contextlib import nullcontext

import pytest

from pgassay.advise.asking import built, require_levels, settings_of
from pgassay.advise.knowledge import Setting, known_settings
from pgassay.advise.laboratory import RealLaboratory, refused_in
from pgassay.advise.space import Machine, space_of
from pgassay.advise.task import Question
from pgassay.lab.catalogue import every_factor
from pgassay.lab.runner import Watcher
from pgassay.lab.workbench import BenchOptions
from pgassay.postgres.installation import LocalInstallation
from pgassay.postgres.settings import Described, describe, in_base_unit
from pgassay.study.units import canonical
from pgassay.testing import real
from tests.system.conftest import Command
from tests.system.journeys import ANYWHERE, Place

pytestmark = pytest.mark.system
TINY = ("-s", "1", "-c", "1", "-j", "1", "-T", "1", "--only", "commit_delay,commit_siblings", *ANYWHERE)


def test_a_plan_says_what_is_tried_and_what_is_not(journey: Place) -> None:
    done = journey.pgassay("advise", *TINY, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "2 settings: commit_delay, commit_siblings" in done.stdout


def test_a_plan_names_the_window_that_a_setting_takes(command: Command) -> None:
    names = "commit_delay,checkpoint_timeout"
    done = command("advise", "-s", "1", "-c", "1", "-j", "1", "-T", "1", "--only", names, *ANYWHERE, "-n")
    assert done.returncode == 0, done.stderr
    assert "1 setting: commit_delay" in done.stdout
    assert "not tried: checkpoint_timeout: its effect takes windows of 600 s, and these are 1 s" in done.stdout


def here() -> tuple[LocalInstallation, Mapping[str, Setting], Mapping[str, Described]]:
    """This PostgreSQL, and of the settings that we know those that it has: as we and as it describe them."""
    found = real.installation()
    known = {
        name: each.of_version(found.version.major)
        for name, each in known_settings().items()
        if each.factor.startswith("server.") and each.since <= found.version.major <= each.until
    }
    return found, known, describe(found.runner, found.account, found.bindir, known)


def test_what_is_known_of_the_settings_is_what_this_postgresql_says() -> None:
    """Its own description has each of them."""
    _, known, described = here()
    assert len(known) > 25
    for name, setting in known.items():
        own = described[name]
        assert setting.apply == own.apply, name


def test_what_is_known_of_their_ranges_is_within_what_this_postgresql_takes() -> None:
    """On machines of any size, as levels of a space have it; and the default is its own."""
    installation, known, described = here()
    for memory_bytes, cores in ((1 << 30, 1), (1 << 40, 256)):
        machine = Machine(memory_bytes, cores, installation.version.major)
        space = space_of(built(known.values(), machine.version, installation.check_settings), machine, {},
                         allowed=[*known])  # fmt: skip
        require_levels(space, every_factor(), described, installation.check_settings)
        assert {each.name for each in space.dimensions} | set(space.left_out) == set(known)
    for name, setting in known.items():
        own = described[name]
        value = "16384" if name == "shared_buffers" else setting.default  # initdb writes 128MB
        if own.unit or own.limits:
            assert in_base_unit(value, own.unit) == in_base_unit(own.default, own.unit), name
        else:
            assert canonical(value) == canonical(own.default), name


def test_settings_of_a_space_that_nobody_knows_bring_what_postgresql_says(journey: Place, command: Command) -> None:
    space = journey.path / "space.toml"
    tiny = ("-s", "1", "-c", "1", "-j", "1", "-T", "1", "--space", str(space), *ANYWHERE, "--dry-run")
    space.write_text(
        '[settings]\nenable_seqscan = {}\nmax_locks_per_transaction = ["64", "128"]\n'
        'vacuum_cost_page_dirty = { low = "5", high = "80", scale = "log" }\n'
    )
    done = command("advise", *tiny)
    assert done.returncode == 0, done.stderr
    assert "3 settings: enable_seqscan, max_locks_per_transaction, vacuum_cost_page_dirty" in done.stdout
    for text, said in (
        ('max_locks_per_transaction = ["64", "5"]', "this PostgreSQL takes 10 to 2147483647"),
        ('wal_level = ["replica", "least"]', "least"),
        ('work_mem = ["4MB", "1kB"]', "this PostgreSQL takes 64kB to"),
        ('block_size = ["8192", "4096"]', "block_size"),
        ('max_lock_per_transaction = ["64", "5"]', "is not a setting"),
        ('huge_pages = ["try", "off"]\n"host.memory" = ["all", "plenty"]', "host.memory"),
    ):
        space.write_text(f"[settings]\n{text}\n")
        done = command("advise", *tiny)
        assert done.returncode == 2, text
        assert said in done.stderr


def test_an_objective_that_the_drive_does_not_count_is_refused_by_name(command: Command) -> None:
    done = command("advise", *TINY, "--for", "tps,physical_bytes", "--dry-run")
    assert done.returncode == 2, done.stdout
    assert "physical_bytes" in done.stderr
    assert "--set drive.data=" in done.stderr
    done = command("advise", *TINY, "--for", "cpu_per_transaction,physical_bytes", "--dry-run")
    assert done.returncode == 2, done.stdout
    assert "--set drive.data=csd" in done.stderr
    done = command("advise", *TINY, "--for", "cpu_per_transaction,wal_per_transaction", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "server_cpu_us_per_transaction and wal_bytes_per_transaction" in done.stdout
    done = command("advise", *TINY, "--for", "tps,crash_recovery_max_ms", "--dry-run")
    assert done.returncode == 2, done.stdout
    assert "--set load.cuts=" in done.stderr


@pytest.mark.slow
def test_what_postgresql_refuses_costs_its_place_and_not_the_batch(journey: Place) -> None:
    space = space_of(settings_of({}, ["work_mem", "jit"]), Machine(8 << 30, 2), {})
    load = {"driver": "pgbench", "scale": 1, "clients": 1, "duration": "1s", "warmup": "0s"}
    options = BenchOptions(data_directory=journey.data, allow_busy=True, allow_volatile=True)
    folder = journey.runs / "advise"
    folder.mkdir()
    told: list[str] = []
    laboratory = RealLaboratory(
        folder, Question(load, "tps"), space, options, lambda study: nullcontext(Watcher()), notify=told.append
    )
    refused, other = (space.start.with_values({"jit": each}) for each in ("maybe", "off"))
    found = laboratory.batch("search-01", space.start, [refused, other], 1)
    assert found[refused] is None
    assert (folder / "search-01").is_dir()
    assert len(told) == 1
    assert "PostgreSQL refuses jit = 'maybe'" in refused_in(folder)[refused]
    assert laboratory.batch("search-01", space.start, [refused, other], 1) == found, "gone on with, it is the same"
