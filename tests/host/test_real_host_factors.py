"""The host factors on a real server and a real kernel: they hold while it runs, and nothing of them is left after."""

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pgassay.host import changes, groups, huge_pages
from pgassay.host.changes import Ledger, LocalHost, current
from pgassay.host.factors import (
    Cores,
    HostFactor,
    HugePages,
    Memory,
    TransparentHugePages,
)
from pgassay.interfaces.errors import ClusterError
from pgassay.interfaces.factor import Readable, SetupDraft
from pgassay.interfaces.hosting import Hosting
from pgassay.interfaces.proc import boot_id
from pgassay.interfaces.server import Server
from pgassay.postgres.installation import LocalInstallation
from pgassay.study.levels import Level
from pgassay.testing import real
from tests.load.loads import fio

pytestmark = [pytest.mark.system, pytest.mark.skipif(os.geteuid() != 0, reason="host factors need root")]

ROOT = Path("/")
MB2 = 2 << 20
PATIENCE_S = 300.0
TAKEN = "could not map anonymous shared memory: Cannot allocate memory"


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[LocalInstallation, Path]]:
    installation = real.installation()
    with real.private_folder() as folder:
        installation.initialize(folder / "data", {})
        yield installation, folder


class Bench:
    """Starts a server under host factors and tells what was read back."""

    def __init__(self, installation: LocalInstallation, folder: Path, host: LocalHost) -> None:
        self.installation, self.folder, self.host = installation, folder, host
        self.server: Server | None = None

    def start(self, *asked: tuple[HostFactor, str]) -> dict[str, str | None]:
        hosting, levels, setup = self.host_stage(*asked)
        hosting.obtain()
        self.server = self.started(hosting, setup)
        readable = Readable(self.server)
        return {factor.pattern: factor.read_back(factor.pattern, level, readable) for factor, level in levels}

    def started(self, hosting: Hosting, setup: SetupDraft) -> Server:
        """The server, as soon as its huge pages are there: any other that starts meanwhile takes free ones."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                return self.installation.start(
                    self.folder / "data", setup.settings, self.folder / "socket", hosting.placement
                )
            except ClusterError as error:
                if TAKEN not in error.message or time.monotonic() > deadline:
                    raise
                hosting.obtain()

    def host_stage(self, *asked: tuple[HostFactor, str]) -> tuple[Hosting, list[tuple[HostFactor, Level]], SetupDraft]:
        setup = SetupDraft(settings={"shared_buffers": "16MB"})
        levels = [(each, each.parse(each.pattern, typed)) for each, typed in asked]
        for factor, level in levels:
            assert factor.unavailable(factor.pattern) is None
            factor.require_here(factor.pattern, level)
            factor.prepare(factor.pattern, level, setup)
        data = self.folder / "data"
        hosting = Hosting(
            changes=self.host,
            ask=lambda name: self.installation.setting(data, setup.settings, name),
            peak_bytes=lambda: 0,
            major=self.installation.version.major,
        )
        for factor, level in sorted(levels, key=lambda each: each[0].rank):
            factor.apply(factor.pattern, level, hosting)
        return hosting, levels, setup


@pytest.fixture
def bench(cluster: tuple[LocalInstallation, Path], tmp_path: Path) -> Iterator[Bench]:
    host = LocalHost(Ledger(tmp_path / "state", boot_id()))
    made = Bench(*cluster, host)
    try:
        yield made
    finally:
        if made.server is not None:
            made.server.stop()
        host.close()


def test_huge_pages_and_a_memory_limit_hold_together_and_are_given_back(bench: Bench) -> None:
    if MB2 not in huge_pages.sizes(ROOT):
        pytest.skip("no 2 MB huge pages")
    if groups.memory_hierarchy() is None:
        pytest.skip("no memory controller")
    before = huge_pages.pool(MB2, ROOT)
    found = bench.start((Memory(), "256MB"), (HugePages(), "2MB"), (Cores(), "1"))
    assert found == {"host.memory": "256MB", "host.huge_pages": "2MB", "host.cores": "1:apart"}
    assert bench.server is not None
    pid = bench.server.postmaster_pid
    inside = groups.limit_of(pid)
    assert inside is not None
    assert inside < 256 << 20, "huge pages are taken off what the group may have"
    assert groups.limit_of(os.getpid()) is None, "never the lab"
    backend = int(bench.server.query("SELECT pg_backend_pid()")[0][0])
    assert groups.limit_of(backend) == inside
    assert os.sched_getaffinity(backend) == os.sched_getaffinity(pid)
    assert len(os.sched_getaffinity(pid)) == 1
    bench.server.stop()
    bench.host.give_back()
    assert huge_pages.pool(MB2, ROOT).owned == before.owned, "what others have taken goes when they end"


def _await_no_surplus() -> None:
    """Until no server of another test holds pages that it took of a pool which was given back meanwhile."""
    deadline = time.monotonic() + PATIENCE_S
    while huge_pages.pool(MB2, ROOT).surplus:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_server_that_tries_huge_pages_by_default_takes_ours_and_they_are_obtained_again(bench: Bench) -> None:
    if MB2 not in huge_pages.sizes(ROOT):
        pytest.skip("no 2 MB huge pages")
    other, socket = bench.folder / "other", bench.folder / "other-socket"
    bench.installation.initialize(other, {})
    _await_no_surplus()
    before = huge_pages.pool(MB2, ROOT)
    while True:
        hosting, _, setup = bench.host_stage((HugePages(), "2MB"))
        hosting.obtain()
        thief = bench.installation.start(other, {"shared_buffers": "8MB"}, socket)
        smaps = Path(f"/proc/{thief.postmaster_pid}/smaps").read_text(encoding="utf-8")
        if huge_pages.shared_memory(smaps).page_bytes == MB2:
            break
        thief.stop()  # a server of another test was quicker: when it ends, there would be enough for ours
        bench.host.give_back()
        _await_no_surplus()
    try:
        assert thief.query("SHOW huge_pages") == [("try",)]
        with pytest.raises(ClusterError, match=TAKEN):
            bench.installation.start(bench.folder / "data", setup.settings, bench.folder / "socket")
        assert hosting.obtain() > 0, "as many as the other took"
        bench.server = bench.started(hosting, setup)
        bench.server.stop()
        bench.host.give_back()
        hosting, _, _ = bench.host_stage((HugePages(), "2MB"))  # the next trial, while the other still holds some
        hosting.obtain()
        bench.host.give_back()
    finally:
        thief.stop()
    assert huge_pages.pool(MB2, ROOT).owned == before.owned, "what others have taken goes when they end"


def test_none_is_read_back_as_none(bench: Bench) -> None:
    assert bench.start((HugePages(), "none"), (Memory(), "all"), (Cores(), "all")) == {
        "host.huge_pages": "none", "host.memory": "all", "host.cores": "all",
    }  # fmt: skip


def test_a_disk_study_has_no_more_page_cache_than_its_server_may_have(bench: Bench, tmp_path: Path) -> None:
    if groups.memory_hierarchy() is None or shutil.which("fio") is None:
        pytest.skip("no memory controller, or fio is not installed")
    limit = 64 << 20
    bench.start((Memory(), "64MB"))
    assert bench.server is not None
    (group,) = bench.server.placement.groups
    levels = {"pattern": "read", "direct": "off", "file_size": "256MB", "duration": "3s", "io_size": "1MB"}
    found = fio(levels).run(bench.server, tmp_path / "out", 1)
    assert not found.problems
    highest = next(each for each in (group / "memory.max_usage_in_bytes", group / "memory.current") if each.exists())
    assert 0.9 * limit <= int(highest.read_text()) <= limit, "the file fills what the server may have, and no more"


@pytest.mark.slow
@pytest.mark.parametrize("memory", ["64MB", "all"])
def test_random_reads_of_a_disk_study_come_from_the_device_where_memory_is_small(
    bench: Bench, memory: str, tmp_path: Path
) -> None:
    """Of 256 MB less than 64 can be kept, so that three reads of four miss; with all memory each block is read once."""
    if groups.memory_hierarchy() is None or shutil.which("fio") is None:
        pytest.skip("no memory controller, or fio is not installed")
    bench.start((Memory(), memory))
    assert bench.server is not None
    size, limit, each = 256 << 20, 64 << 20, 256 << 10
    levels = {"pattern": "random:100%", "direct": "off", "file_size": "256MB", "io_size": "256kB"}
    fio({**levels, "duration": "1s"}).run(bench.server, tmp_path / "first", 1)
    before = from_devices()
    found = fio({**levels, "duration": "5s"}).run(bench.server, tmp_path / "second", 2)
    read_bytes, asked_bytes = from_devices() - before, found.transactions * each
    assert not found.problems
    assert asked_bytes > 0
    if memory == "all":
        assert read_bytes <= 1.05 * size
        return
    assert 0.6 * asked_bytes <= read_bytes <= 1.05 * asked_bytes
    (group,) = bench.server.placement.groups
    names = ("memory.max_usage_in_bytes", "memory.peak", "memory.current")
    highest = next(group / name for name in names if (group / name).exists())
    assert 0.9 * limit <= int(highest.read_text()) <= limit, "full, and no more"


def from_devices() -> int:
    """Bytes that programs of ours which have ended made devices read (getrusage(2)), and nobody else."""
    return 512 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock


def test_transparent_huge_pages_are_put_back(bench: Bench) -> None:
    path = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not path.exists():
        pytest.skip("no transparent huge pages")
    before = current(path)
    other = "never" if before != "never" else "madvise"
    assert bench.start((TransparentHugePages(), other)) == {"host.transparent_huge_pages": other}
    bench.host.give_back()
    assert current(path) == before


def test_what_a_killed_lab_changed_is_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "_PATIENCE_S", PATIENCE_S)
    if groups.memory_hierarchy() is None:
        pytest.skip("no memory controller")
    script = (
        "import os, signal, sys; from pathlib import Path; from pgassay.host import groups\n"
        "from pgassay.host.changes import LocalHost; from pgassay.host.changes import Ledger\n"
        "from pgassay.interfaces.proc import boot_id\n"
        "host = LocalHost(Ledger(Path(sys.argv[1]), boot_id()))\n"
        "print(groups.limit_memory(host, groups.memory_hierarchy(), 1 << 26), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    said = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False)
    group = Path(said.stdout.strip())
    assert group.is_dir()
    sleeper = subprocess.Popen([shutil.which("sleep") or "sleep", "3600"])
    (group / "cgroup.procs").write_text(str(sleeper.pid))
    assert LocalHost(Ledger(tmp_path, boot_id())).repair() == (str(group),)
    assert not group.exists()
    assert sleeper.wait(300) == -9, "what still ran in our group is ended"
