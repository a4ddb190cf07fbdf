"""What this machine and this load cannot try is left out with its reason; a level that no factor accepts is refused."""

import os
from pathlib import Path

import pytest

from pgassay.advise.here import barred, require_levels
from pgassay.advise.knowledge import known_settings, setting_of
from pgassay.advise.laboratory import Question
from pgassay.advise.space import Machine, space_of
from pgassay.errors import UsageError
from pgassay.host import messages as host_messages
from pgassay.lab.catalogue import every_factor
from tests.host import made

KNOWN = known_settings()
PGBENCH = Question({"scale": "1"}, "tps")
CATALOGUE = every_factor()


def meminfo(root: Path) -> Path:
    made.put(root, "proc/meminfo", "MemTotal:       16000000 kB\nHugepagesize:       2048 kB\n")
    return root


def test_huge_pages_are_left_out_where_none_are_to_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = [KNOWN["huge_pages"]]
    why = barred(pages, PGBENCH, CATALOGUE, meminfo(tmp_path))["huge_pages"]
    assert "try and off are the same" in why
    place = made.huge_pages(tmp_path, 2048, total=4, free=2, reserved=2)
    assert barred(pages, PGBENCH, CATALOGUE, tmp_path), "they are promised to others"
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "only root may reserve some" in barred(pages, PGBENCH, CATALOGUE, tmp_path)["huge_pages"]
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert "--only host.huge_pages" in barred(pages, PGBENCH, CATALOGUE, tmp_path)["huge_pages"]
    (place / "nr_overcommit_hugepages").write_text("8\n")
    assert barred(pages, PGBENCH, CATALOGUE, tmp_path) == {}
    made.huge_pages(tmp_path, 2048, total=4, free=3, reserved=2)
    (place / "nr_overcommit_hugepages").unlink()
    assert barred(pages, PGBENCH, CATALOGUE, tmp_path) == {}


def test_two_ways_to_the_same_pages_are_not_tried_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    both = [KNOWN["huge_pages"], KNOWN["host.huge_pages"]]
    assert barred(both, PGBENCH, CATALOGUE, tmp_path) == {"huge_pages": "host.huge_pages sets it"}
    held = Question({"scale": "1"}, "tps", held={"host.huge_pages": "2MB"})
    found = barred(both, held, CATALOGUE, tmp_path)
    assert found["huge_pages"] == "host.huge_pages sets it"
    assert "--set holds host.huge_pages" in found["host.huge_pages"]


def test_what_this_user_may_not_change_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert barred([KNOWN["host.huge_pages"]], PGBENCH, CATALOGUE) == {"host.huge_pages": host_messages.NO_ROOT}
    assert list(barred([KNOWN["table.fillfactor"]], Question({}, "tps"), CATALOGUE)) == ["table.fillfactor"]


def test_a_factor_that_there_is_not_names_the_nearest() -> None:
    stranger = setting_of("host.huge_page", {"default": "none", "levels": ["none", "2MB"]})
    with pytest.raises(UsageError, match='no factor "host.huge_page"') as raised:
        barred([stranger], PGBENCH, CATALOGUE)
    assert raised.value.hint == 'did you mean "host.huge_pages"?'


def test_a_level_that_its_factor_does_not_accept_is_refused() -> None:
    bad = setting_of("host.memory", {"default": "all", "levels": ["all", "plenty"]})
    with pytest.raises(UsageError, match="plenty"):
        require_levels(space_of([bad], Machine(8 << 30, 2), {}), CATALOGUE)
    require_levels(space_of([KNOWN["jit"], KNOWN["table.fillfactor"]], Machine(8 << 30, 2), {}), CATALOGUE)
