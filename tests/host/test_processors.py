"""Which CPUs a server gets on machines whose files are in a temporary directory, and when some went offline."""

import os
from pathlib import Path

import pytest

from pgassay.host.factors import Cores
from pgassay.interfaces.errors import HostError
from pgassay.interfaces.hosting import Hosting
from tests.host.made import host, put


def hosted(root: Path, typed: str) -> Hosting:
    factor = Cores(root)
    hosting = Hosting(changes=host(root), ask=lambda name: "", peak_bytes=lambda: 0, major=17)
    factor.apply(factor.pattern, factor.parse(factor.pattern, typed), hosting)
    return hosting


def test_cpus_are_chosen_among_those_that_are_online(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for cpu, siblings in ((0, "0-1"), (1, "0-1"), (2, "2-3"), (3, "2-3")):
        put(tmp_path, f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list", siblings)
    online = {0, 1, 2, 3}
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(online))
    assert hosted(tmp_path, "2:together").cpus == (0, 1)
    online -= {1, 3}
    assert hosted(tmp_path, "2:together").cpus == (0, 2)
    for typed in ("3", "0-1"):
        with pytest.raises(HostError, match="of these CPUs are online") as caught:
            hosted(tmp_path, typed)
        assert caught.value.code == "no_cores"
