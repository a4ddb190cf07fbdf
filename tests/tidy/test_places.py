"""No file names the machine it was written on, nor the registry its parts came from.

A lock with a mirror's host in it, or a test with somebody's home in it, works for one person only.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = (".ci", "benchmarks", "crates", "docs", "examples", "scripts", "src", "tests")
BINARY = {".so", ".png", ".parquet", ".gz", ".zst"}
BUILT = {"_bin", "__pycache__"}
"""Python writes what it compiled under another name first, which is gone a moment later."""

# Put together from pieces, so that this file does not name what it forbids.
HOSTS = (
    "pypi" + r"\.org",
    "python" + r"hosted\.org",
    "crates" + r"\.io/api",
    "static" + r"\.crates\.io",
    "index" + r"\.crates\.io",
    "deb" + r"\.debian\.org",
    "registry" + r"\.npmjs",
    "proxy" + r"\.golang",
    "repo[0-9]*" + r"\.maven",
)
PATHS = (r"/ho" + r"me/\w", r"/ro" + r"ot/\w", r"/wo" + r"rk/\w", r"/opt/" + r"wheels")
FORBIDDEN = re.compile("|".join((*HOSTS, *(rf"(?<![\w.~$}}])(?:{path})" for path in PATHS))))


def places(text: str) -> list[str]:
    """Every forbidden place that ``text`` names, as ``:line place``."""
    return [
        f":{number} {found.group()}"
        for number, line in enumerate(text.splitlines(), start=1)
        for found in FORBIDDEN.finditer(line)
    ]


def sources() -> list[Path]:
    """The files that are, or would be, tracked: all but what is built."""
    files = [path for path in ROOT.iterdir() if path.is_file() and path.name != ".git"]  # a worktree's pointer
    for folder in FOLDERS:
        files += [path for path in (ROOT / folder).rglob("*") if path.is_file()]
    return sorted(path for path in files if path.suffix not in BINARY and not BUILT & set(path.parts))


def test_no_file_names_a_place() -> None:
    files = sources()
    assert ROOT / "requirements.lock" in files
    faults = [
        f"{path.relative_to(ROOT)}{place}"
        for path in files
        for place in places(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert faults == []


@pytest.mark.parametrize(
    "line",
    ["--index-url https://" + "pypi" + ".org/simple", "bin = '/ho" + "me/ann/pg/bin'", "see /wo" + "rk/notes"],
)
def test_a_place_is_found(line: str) -> None:
    assert len(places(f"fine\n{line}\n")) == 1


@pytest.mark.parametrize("line", ["src/wo" + "rk/x.py", "$HO" + "ME/root/x", "/usr/lib/postgresql/16/bin", "~/work/x"])
def test_an_innocent_path_is_not(line: str) -> None:
    assert places(line) == []
