"""A postgresql.conf is read as PostgreSQL itself reads it: names, strings, includes."""

from pathlib import Path

import pytest

from pgassay.errors import UsageError
from pgassay.postgres.settings import read_conf

CASES = Path(__file__).parents[1] / "cases" / "11-debian-conf"
CONF = r"""
# a comment
shared_buffers = 1MB   # far too little
WORK_MEM='64kB'
search_path 'it''s'
application_name = 'it\'s \\ a\ttab \101'
shared_buffers = '2MB'
"""


def test_lines_are_read_as_postgresql_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "a.conf"
    path.write_text(CONF)
    assert read_conf(path).settings == {
        "shared_buffers": "2MB",
        "work_mem": "64kB",
        "search_path": "it's",
        "application_name": "it's \\ a\ttab A",
    }


@pytest.mark.parametrize("line", ["= 3", "work_mem = 'open", "work_mem = 4 MB", "work_mem = = 3"])
def test_a_line_that_is_no_setting_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "a.conf"
    path.write_text(f"jit = on\n{line}\n")
    with pytest.raises(UsageError, match="line 2"):
        read_conf(path)


def test_an_include_is_followed_beside_its_file_and_later_lines_hold() -> None:
    found = read_conf(CASES / "include.conf")
    assert (found.settings, found.absent) == ({"shared_buffers": "256MB", "work_mem": "4MB"}, [])


def test_strings_have_escapes() -> None:
    assert read_conf(CASES / "escapes.conf").settings["default_text_search_config"] == "it's"


def test_a_folder_is_included_in_order_without_what_postgresql_leaves_out(tmp_path: Path) -> None:
    folder = tmp_path / "conf.d"
    folder.mkdir()
    for name, value in (("20-b.conf", "2MB"), ("10-a.conf", "1MB"), (".30.conf", "3MB"), ("40.conf.bak", "4MB")):
        (folder / name).write_text(f"work_mem = {value}\ninclude_if_exists 'deeper.conf'\n")
    (folder / "deeper.conf").write_text("jit = off\n")
    path = tmp_path / "postgresql.conf"
    path.write_text("include_dir = 'conf.d'\n")
    assert read_conf(path).settings == {"work_mem": "2MB", "jit": "off"}


def test_what_an_include_lacks_is_named_unless_it_may_be_absent(tmp_path: Path) -> None:
    path = tmp_path / "a.conf"
    path.write_text("include 'gone.conf'\ninclude_if_exists 'gone.conf'\ninclude_dir '/nowhere'\njit = on\n")
    found = read_conf(path)
    assert (found.settings, found.absent) == ({"jit": "on"}, ["include 'gone.conf'", "include_dir '/nowhere'"])


def test_a_file_that_includes_itself_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.conf"
    path.write_text("include 'a.conf'\n")
    with pytest.raises(UsageError, match="nested more than 10 deep"):
        read_conf(path)
