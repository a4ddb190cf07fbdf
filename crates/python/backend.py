"""maturin's build backend with one step before: a wheel that pip builds has the drive and the player inside.

maturin builds one crate, and the programs are others. An editable install finds them where scripts/programs puts them,
so it needs no step. See PEP 517, "In-tree build backends".
"""

import os
import shutil
import subprocess
from pathlib import Path

from maturin import (
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)
from maturin import build_wheel as _build_wheel

__all__ = [
    "build_editable", "build_sdist", "build_wheel", "get_requires_for_build_editable", "get_requires_for_build_sdist",
    "get_requires_for_build_wheel", "prepare_metadata_for_build_editable", "prepare_metadata_for_build_wheel",
]  # fmt: skip

PROGRAMS = ("pgassay-drive", "pgassay-player")
os.environ.setdefault("MATURIN_NO_MISSING_BUILD_BACKEND_WARNING", "1")  # it is not missing: it is this one


def build_wheel(directory: str, config_settings: object = None, metadata_directory: str | None = None) -> str:
    """The wheel's file name; the programs are built first, into the package."""
    packages = [word for program in PROGRAMS for word in ("--package", program)]
    subprocess.run(["cargo", "build", "--release", "--locked", *packages], check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", "target"), "release")
    folder = Path("src", "pgassay", "_bin")
    folder.mkdir(exist_ok=True)
    for program in PROGRAMS:
        shutil.copy(target / program, folder / f"{program}.new")
        (folder / f"{program}.new").replace(folder / program)
    return str(_build_wheel(directory, config_settings, metadata_directory))
