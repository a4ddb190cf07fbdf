"""A change of the machine is journalled before it is made, and given back by the next lab."""

from pathlib import Path

import pytest

from pgassay.host.changes import Ledger, current
from pgassay.host.doctor import changes_owed
from pgassay.interfaces.errors import BenchError, HostError
from pgassay.study.findings import Severity
from tests.host.made import BOOT, host, put


def test_the_latest_change_is_undone_first(tmp_path: Path) -> None:
    value = put(tmp_path, "proc/sys/vm/nr_hugepages", "3\n")
    lab = host(tmp_path)
    lab.write(value, "10")
    lab.write(value, "20")
    assert value.read_text() == "20"
    lab.give_back()
    assert value.read_text() == "3"
    value.write_text("7")
    lab.give_back()
    assert value.read_text() == "7", "nothing is owed any more"


def test_the_chosen_word_of_several_is_put_back(tmp_path: Path) -> None:
    value = put(tmp_path, "enabled", "always [madvise] never\n")
    assert current(value) == "madvise"
    lab = host(tmp_path)
    lab.write(value, "always")
    lab.give_back()
    assert value.read_text() == "madvise"


def test_a_killed_labs_changes_are_put_back_by_the_next(tmp_path: Path) -> None:
    value = put(tmp_path, "value", "before")
    killed = host(tmp_path)
    killed.write(value, "changed")
    killed._ledger.lock.release()  # as the kernel does when a process ends
    assert changes_owed(Ledger(tmp_path / "state", BOOT)).severity is Severity.WARNING
    assert host(tmp_path).repair() == (str(value),)
    assert value.read_text() == "before"
    assert host(tmp_path).repair() == ()
    assert changes_owed(Ledger(tmp_path / "state", BOOT)).severity is Severity.OK


def test_the_next_labs_first_change_repairs_too(tmp_path: Path) -> None:
    value = put(tmp_path, "value", "before")
    killed = host(tmp_path)
    killed.write(value, "changed")
    killed._ledger.lock.release()
    second = host(tmp_path)
    second.write(value, "mine")
    second.give_back()
    assert value.read_text() == "before"


def test_a_living_labs_changes_are_left_alone(tmp_path: Path) -> None:
    value = put(tmp_path, "value", "before")
    living = host(tmp_path)
    living.write(value, "changed")
    other = host(tmp_path)
    assert other.repair() == ()
    other.give_back()
    other.close()
    assert value.read_text() == "changed"
    assert changes_owed(Ledger(tmp_path / "state", BOOT)).severity is Severity.NOTE
    with pytest.raises(BenchError, match="another pgassay") as caught:
        other.write(value, "both")
    assert not isinstance(caught.value, HostError), "else each treatment of the other run would count as failed"
    living.close()
    other.write(value, "alone")
    other.close()
    assert value.read_text() == "before"


def test_a_reboot_has_given_back_already(tmp_path: Path) -> None:
    value = put(tmp_path, "value", "before")
    killed = host(tmp_path)
    killed.write(value, "changed")
    killed._ledger.lock.release()
    value.write_text("fresh after the reboot")
    assert host(tmp_path, "boot-2").repair() == ()
    assert value.read_text() == "fresh after the reboot"


def test_a_line_cut_short_was_not_acted_upon(tmp_path: Path) -> None:
    value = put(tmp_path, "value", "before")
    killed = host(tmp_path)
    killed.write(value, "changed")
    killed._ledger.lock.release()
    with killed._ledger.path.open("a") as file:
        file.write('{"kind": "value", "pa')
    assert host(tmp_path).repair() == (str(value),)
    assert value.read_text() == "before"


def test_a_group_is_removed_and_only_ours_can_be_made(tmp_path: Path) -> None:
    lab = host(tmp_path)
    group = tmp_path / "pgassay-1-abc"
    lab.make_group(group)
    assert group.is_dir()
    put(tmp_path, "pgassay-1-abc/cgroup.procs", "")
    (group / "cgroup.procs").unlink()  # the kernel's own files do not hinder rmdir
    lab.give_back()
    with pytest.raises(ValueError, match=r"system\.slice"):
        lab.make_group(tmp_path / "system.slice")


def test_what_the_kernel_refuses_is_a_host_error_that_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="nowhere"):
        host(tmp_path).write(tmp_path / "nowhere", "1")
