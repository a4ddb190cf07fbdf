"""A kind of drive stands in few files: CONTRIBUTING.md's recipe names them, and whoever adds one edits no others."""

from pathlib import Path

import pytest

from pgassay.study.drives import DriveKind

ROOT = Path(__file__).parents[2]
SOURCES = {path: path.read_text(encoding="utf-8") for path in (ROOT / "src" / "pgassay").rglob("*.py")}
SHARED = {"study/drives.py", "drive/options.py", "drive/attacher.py"}


@pytest.mark.parametrize("kind", DriveKind)
def test_a_kind_of_drive_is_named_in_its_module_and_those_of_the_recipe(kind: DriveKind) -> None:
    named = {
        str(path.relative_to(ROOT / "src" / "pgassay"))
        for path, text in SOURCES.items()
        if f"DriveKind.{kind.name}" in text
    }
    own = named - SHARED
    assert len(own) <= 1, own
    assert all(path.startswith("drive/") for path in own)
    page = (ROOT / "docs" / "drives.md").read_text(encoding="utf-8")
    assert f"`{kind}" in page or kind is DriveKind.DESCRIPTION, "docs/drives.md has a row for it"
