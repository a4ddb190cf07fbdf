"""The lock files say what pyproject.toml asks for, with a hash for everything, and agree with each other.

An edit of the dependencies without `make locks` fails here, and not on a fresh machine.
"""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ASKED = [*PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"]["dev"]]
EMBEDDED = PROJECT["project"]["optional-dependencies"]["embedded"]


def pins(lock: str) -> dict[str, set[str]]:
    """The versions that a lock file pins, by name: more than one where it depends on the Python."""
    found: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([\w.-]+)==([\w.+]+)", lock, flags=re.MULTILINE):
        found.setdefault(canonicalize_name(name), set()).add(version)
    return found


def unmet(asked: list[str], locked: dict[str, set[str]]) -> list[str]:
    """The requirements that no pin, or a pin out of their range, answers."""
    requirements = [Requirement(text) for text in asked]
    return [
        str(requirement)
        for requirement in requirements
        if not (versions := locked.get(canonicalize_name(requirement.name)))
        or not all(requirement.specifier.contains(version, prereleases=True) for version in versions)
    ]


def test_the_locks_meet_what_is_asked() -> None:
    plain, embedded = (pins((ROOT / name).read_text()) for name in ("requirements.lock", "requirements-embedded.lock"))
    assert unmet(ASKED, plain) == []
    assert unmet([*ASKED, *EMBEDDED], embedded) == []
    assert {name: embedded.get(name) for name in plain} == plain


def test_the_lock_of_the_site_meets_what_is_asked_and_holds_nothing_else_than_the_others() -> None:
    site, plain = (pins((ROOT / name).read_text()) for name in ("requirements-docs.lock", "requirements.lock"))
    assert unmet(PROJECT["dependency-groups"]["site"], site) == []
    assert {name: pinned for name, pinned in site.items() if plain.get(name, pinned) != pinned} == {}


def test_every_pin_has_a_hash() -> None:
    for path in ROOT.glob("requirements*.lock"):
        blocks = re.split(r"^(?=[\w.-]+==)", path.read_text(), flags=re.MULTILINE)[1:]
        assert blocks
        assert [block.split()[0] for block in blocks if "--hash=sha256:" not in block] == []


def test_a_forgotten_lock_is_noticed() -> None:
    locked = pins("numpy==2.4.6 \\\n    --hash=sha256:0\n")
    assert unmet(["numpy>=2.2"], locked) == []
    assert unmet(["numpy>=3", "Rich>=1"], locked) == ["numpy>=3", "Rich>=1"]
