"""Huge pages: how many are asked of the kernel, what is not obtained, and who really uses them."""

from pathlib import Path

import pytest

from pgassay.host import huge_pages
from pgassay.interfaces.errors import HostError
from tests.host.made import host
from tests.host.made import huge_pages as pool

MB2 = 2 << 20

SMAPS = """\
55d0-55d1 r--p 00000000 08:01 100 /usr/lib/postgresql/15/bin/postgres
Size:                  4 kB
KernelPageSize:        4 kB
7f00-7f10 rw-s 00000000 00:0f 200 /anon_hugepage (deleted)
Size:             153600 kB
KernelPageSize:     2048 kB
7f20-7f21 rw-s 00000000 00:01 201 /SYSV00 (deleted)
Size:                  4 kB
KernelPageSize:        4 kB
"""


class Kernel:
    """Gives so many pages and no more when the pool's file is written."""

    def __init__(self, folder: Path, most: int) -> None:
        self.folder, self.most, self.writes = folder, most, list[str]()

    def write(self, path: Path, value: str, back: str | None = None) -> None:
        self.writes.append(value)
        got = min(int(value), self.most)
        (self.folder / "free_hugepages").write_text(str(got))
        path.write_text(str(got))

    def make_group(self, path: Path) -> None:
        raise AssertionError(path)

    def hold(self, path: Path, data: bytes) -> None:
        raise AssertionError(path)

    def give_back(self) -> None:
        raise AssertionError


def test_a_pool_that_has_enough_is_left_alone(tmp_path: Path) -> None:
    pool(tmp_path, 2048, total=100, free=90, reserved=10)
    lab = host(tmp_path)
    huge_pages.obtain(lab, MB2, 80, tmp_path)
    assert huge_pages.pool(MB2, tmp_path).total == 100
    assert not (tmp_path / "state").exists(), "nothing was changed"


def test_others_keep_theirs(tmp_path: Path) -> None:
    folder = pool(tmp_path, 2048, total=100, free=90, reserved=30)
    kernel = Kernel(folder, most=1000)
    huge_pages.obtain(kernel, MB2, 80, tmp_path)
    assert kernel.writes == ["120"], "60 are free and promised to nobody: 20 more"


def test_pages_that_another_still_holds_of_an_earlier_pool_are_not_given_back_to_the_pool(tmp_path: Path) -> None:
    folder = pool(tmp_path, 2048, total=5, free=0, surplus=5)
    lab = host(tmp_path)
    with pytest.raises(HostError):
        huge_pages.obtain(lab, MB2, 80, tmp_path)
    assert (folder / "nr_hugepages").read_text() == "85"
    lab.give_back()
    assert (folder / "nr_hugepages").read_text() == "0", "the five go with the one who holds them"


def test_what_is_not_obtained_is_the_trials_own_outcome(tmp_path: Path) -> None:
    folder = pool(tmp_path, 2048, total=0, free=0)
    with pytest.raises(HostError, match="needs 80 huge pages of 2MB, and this machine could free only 0") as caught:
        huge_pages.obtain(Kernel(folder, most=0), MB2, 80, tmp_path)
    assert caught.value.code == "hugepage_error"


def test_a_shared_mapping_tells_the_page_size_and_how_much_lies_in_it() -> None:
    assert huge_pages.shared_memory(SMAPS) == huge_pages.SharedMemory(MB2, 150 << 20)
    private = SMAPS.replace("rw-s", "rw-p")
    assert huge_pages.shared_memory(private) == huge_pages.SharedMemory(4096, 0)


def test_sizes_are_those_of_the_kernel(tmp_path: Path) -> None:
    pool(tmp_path, 1048576, 0, 0)
    pool(tmp_path, 2048, 0, 0)
    assert huge_pages.sizes(tmp_path) == (MB2, 1 << 30)
    assert huge_pages.sizes(tmp_path / "nowhere") == ()
