"""Everything about this machine that could matter to a number, for `host.json`: read once, never interpreted here.

Plain values by group (`cpu`, `memory`, `kernel`, `storage` …); None where the machine does not say. No host name, user
name, address or serial number is among them, because records are sent to others. `host_id` is the machine as a hash,
for files that stay on it, so that a home directory shared by two machines is no confusion.
"""

import hashlib
import os
import platform
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from pgassay.host.storage import chosen, device_of, mount_of, read_text

Fact = str | int | float | bool | None | list[str]
Facts = dict[str, dict[str, Fact]]

_VM = (
    "swappiness", "dirty_ratio", "dirty_bytes", "dirty_background_ratio", "dirty_background_bytes",
    "dirty_expire_centisecs", "dirty_writeback_centisecs", "overcommit_memory", "overcommit_ratio", "nr_hugepages",
    "zone_reclaim_mode",
)  # fmt: skip


def collect(places: Mapping[str, Path], root: Path = Path("/")) -> Facts:
    """All facts; `places` are the directories that a run uses, by what they are for (`data`, `wal`)."""
    uptime = read_text(root / "proc/uptime")
    facts: Facts = {
        "cpu": cpu(root),
        "memory": memory_of(read_text(root / "proc/meminfo") or "") | transparent_huge_pages(root),
        "kernel": kernel(root),
        "vm": {name: read_text(root / "proc/sys/vm" / name) for name in _VM},
        "load": {"average": read_text(root / "proc/loadavg"), "uptime_s": float(uptime.split()[0]) if uptime else None},
        "python": {"version": platform.python_version(), "libc": " ".join(platform.libc_ver())},
    }
    for use, path in places.items():
        facts[f"storage.{use}"] = storage(path)
    return facts


def cpu(root: Path) -> dict[str, Fact]:
    """Model, counts, threads per core, governors, boost, and what a control group allows."""
    info = read_text(root / "proc/cpuinfo") or ""
    folder = root / "sys/devices/system/cpu"
    governors = {read_text(path) for path in folder.glob("cpu[0-9]*/cpufreq/scaling_governor")}
    return {
        "model": first(info, "model name") or first(info, "Model") or platform.machine(),
        "architecture": platform.machine(),
        "processors": os.cpu_count(),
        "usable_processors": len(os.sched_getaffinity(0)),
        "cores": cores(info),
        "sockets": len(set(re.findall(r"^physical id\s*:\s*(\d+)", info, re.MULTILINE))) or None,
        "smt": read_text(folder / "smt/control"),
        "governor": sorted(each for each in governors if each),
        "boost": read_text(folder / "cpufreq/boost"),
        "no_turbo": read_text(folder / "intel_pstate/no_turbo"),
        "mhz": first(info, "cpu MHz"),
        "numa_nodes": len(list((root / "sys/devices/system/node").glob("node[0-9]*"))) or None,
        "hypervisor": "hypervisor" in (first(info, "flags") or "").split(),
        "cgroup_limit": read_text(root / "sys/fs/cgroup/cpu.max"),
    }


def cores(cpuinfo: str) -> int | None:
    """Physical cores: distinct pairs of socket and core; None where /proc/cpuinfo does not number them."""
    pairs = set()
    for block in cpuinfo.split("\n\n"):
        socket, core = first(block, "physical id"), first(block, "core id")
        if core is not None:
            pairs.add((socket, core))
    return len(pairs) or None


def memory_of(meminfo: str) -> dict[str, Fact]:
    fields = {
        "MemTotal": "total_bytes", "MemAvailable": "available_bytes", "SwapTotal": "swap_bytes",
        "SwapFree": "swap_free_bytes", "Hugepagesize": "huge_page_bytes",
    }  # fmt: skip
    facts: dict[str, Fact] = dict.fromkeys(fields.values())
    for name, kilobytes in re.findall(r"^(\w+):\s+(\d+) kB$", meminfo, re.MULTILINE):
        if name in fields:
            facts[fields[name]] = int(kilobytes) * 1024
    return facts


def transparent_huge_pages(root: Path) -> dict[str, Fact]:
    folder = root / "sys/kernel/mm/transparent_hugepage"
    return {
        "transparent_huge_pages": chosen(read_text(folder / "enabled")),
        "transparent_huge_pages_defrag": chosen(read_text(folder / "defrag")),
    }


def kernel(root: Path) -> dict[str, Fact]:
    release = read_text(root / "etc/os-release") or ""
    names = re.findall(r'^PRETTY_NAME="?([^"\n]*)"?$', release, re.MULTILINE)
    return {
        "release": platform.release(),
        "version": platform.version(),
        "distribution": names[0] if names else None,
        "virtualization": virtualization(root),
        "clock_source": read_text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "preemption": chosen(read_text(root / "sys/kernel/debug/sched/preempt")),
        "page_bytes": os.sysconf("SC_PAGE_SIZE"),
    }


def virtualization(root: Path) -> str | None:
    """The container and the hypervisor, as far as files show them; None on what looks like bare metal."""
    found = []
    if (root / ".dockerenv").exists():
        found.append("docker")
    if (root / "run/.containerenv").exists():
        found.append("podman")
    flags = (first(read_text(root / "proc/cpuinfo") or "", "flags") or "").split()
    if read_text(root / "sys/hypervisor/type") or "hypervisor" in flags:
        words = (read_text(root / "sys/class/dmi/id" / each) for each in ("sys_vendor", "product_name"))
        found.append(" ".join(word for word in words if word) or "a hypervisor")
    return " on ".join(found) or None


def storage(path: Path) -> dict[str, Fact]:
    mount = mount_of(path)
    facts: dict[str, Fact] = {
        "filesystem": mount.filesystem,
        "device": mount.device,
        "options": mount.options,
        "size_bytes": mount.size_bytes,
        "free_bytes": mount.free_bytes,
        "reflink": mount.reflink,
    }
    device = device_of(mount)
    if device is not None:
        facts |= {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(device).items()}
    return facts


def first(text: str, key: str) -> str | None:
    found = re.search(rf"^{re.escape(key)}\s*:\s*(.*)$", text, re.MULTILINE)
    return found[1].strip() if found else None


_PURPOSE = "pgassay"


def host_id(root: Path = Path("/")) -> str:
    """Sixteen hexadecimal digits that stay the same over reboots and say nothing else."""
    try:
        known = (root / "etc/machine-id").read_text(encoding="utf-8").strip()
    except OSError:
        known = ""
    return hashlib.sha256(f"{_PURPOSE}/{known or platform.node()}".encode()).hexdigest()[:16]
