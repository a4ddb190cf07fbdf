"""Facts from made-up machines: read as they stand, None where nothing is known; an id that gives nothing away."""

import json
import platform
import socket
from pathlib import Path

import pytest

from pgassay.host import facts
from pgassay.host.facts import host_id

CPUINFO = """\
processor\t: 0
model name\t: Example CPU @ 3.00GHz
flags\t\t: fpu hypervisor
physical id\t: 0
core id\t\t: 0

processor\t: 1
model name\t: Example CPU @ 3.00GHz
flags\t\t: fpu hypervisor
physical id\t: 0
core id\t\t: 0

processor\t: 2
model name\t: Example CPU @ 3.00GHz
flags\t\t: fpu hypervisor
physical id\t: 1
core id\t\t: 0
"""
MEMINFO = "MemTotal:       16000 kB\nMemAvailable:    9000 kB\nSwapTotal:         100 kB\nSwapFree:           40 kB\n"


def _machine(root: Path) -> Path:
    for name, text in {
        "proc/cpuinfo": CPUINFO,
        "proc/meminfo": MEMINFO,
        "proc/uptime": "100.5 50.0",
        "proc/sys/vm/swappiness": "60",
        "etc/os-release": 'NAME="X"\nPRETTY_NAME="Example Linux 9"\n',
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave",
        "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance",
        "sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet",
        "sys/class/dmi/id/sys_vendor": "QEMU",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return root


def test_a_machine_is_read_as_it_stands(tmp_path: Path) -> None:
    found = facts.collect({"data": tmp_path}, _machine(tmp_path))
    assert found["cpu"]["model"] == "Example CPU @ 3.00GHz"
    assert (found["cpu"]["cores"], found["cpu"]["sockets"]) == (2, 2)
    assert found["cpu"]["governor"] == ["performance", "powersave"]
    assert found["memory"]["swap_free_bytes"] == 40 * 1024
    assert found["memory"]["transparent_huge_pages"] == "madvise"
    assert found["memory"]["huge_page_bytes"] is None
    assert found["vm"]["swappiness"] == "60"
    assert found["vm"]["dirty_ratio"] is None
    assert found["kernel"]["distribution"] == "Example Linux 9"
    assert found["kernel"]["virtualization"] == "QEMU"
    assert found["kernel"]["clock_source"] == "hpet"
    assert found["load"]["uptime_s"] == 100.5
    assert found["storage.data"]["filesystem"]


def test_containers_are_told_with_what_they_run_on(tmp_path: Path) -> None:
    (tmp_path / ".dockerenv").touch()
    assert facts.virtualization(tmp_path) == "docker"
    assert facts.virtualization(_machine(tmp_path)) == "docker on QEMU"


def test_a_machine_that_tells_nothing_still_has_a_record(tmp_path: Path) -> None:
    found = facts.collect({}, tmp_path)
    assert found["kernel"]["virtualization"] is None
    assert found["cpu"]["cores"] is None
    assert found["memory"]["total_bytes"] is None


def test_this_machine_can_be_written_as_json_without_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "db7.customer.example"
    this = platform.uname()
    monkeypatch.setattr(platform, "uname", lambda: this._replace(node=name))
    monkeypatch.setattr(socket, "gethostname", lambda: name)
    text = json.dumps(facts.collect({"data": tmp_path}))
    assert platform.node() == name
    assert json.loads(text)["cpu"]["processors"] >= 1
    assert name not in text


def test_the_machine_s_id_is_hashed(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/machine-id").write_text("0123456789abcdef0123456789abcdef\n", encoding="utf-8")
    found = host_id(tmp_path)
    assert found == host_id(tmp_path)
    assert len(found) == 16
    assert found not in "0123456789abcdef0123456789abcdef"


def test_without_one_the_name_of_the_host_must_do(tmp_path: Path) -> None:
    assert host_id(tmp_path) == host_id(tmp_path / "nowhere") != ""
