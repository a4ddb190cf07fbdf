"""The built-in studies: TOML files in the package (`studies/*.toml`), data like any user's study file.

`find` takes what a user types: the name of a built-in study, or the path of a file.
"""

from importlib import resources
from pathlib import Path

from pgassay import untrusted
from pgassay.errors import UsageError, did_you_mean

QUICK = "quick"


def names() -> tuple[str, ...]:
    folder = resources.files("pgassay.study") / "studies"
    return tuple(sorted(each.name.removesuffix(".toml") for each in folder.iterdir() if each.name.endswith(".toml")))


def find(name: str) -> tuple[str, str]:
    """The study's name and its TOML text; raises `UsageError` if there is neither a file nor such a built-in."""
    path = Path(name)
    if path.suffix == ".toml" or "/" in name:
        return path.stem, _text(path)
    if name in names():
        return name, (resources.files("pgassay.study") / "studies" / f"{name}.toml").read_text(encoding="utf-8")
    if path.is_file():
        return path.stem, _text(path)
    raise UsageError(
        f'no study file and no built-in study is called "{name}"',
        did_you_mean(name, names(), f"the built-in studies are: {', '.join(names())}"),
    )


def sized(name: str) -> tuple[str, str]:
    """`cache-quick` as the study `cache` in its size `quick`; any other name with no size."""
    study, dash, size = name.rpartition("-")
    if dash and size == QUICK and name not in names() and study in names():
        return study, QUICK
    return name, ""


def _text(path: Path) -> str:
    try:
        return untrusted.read_text(path, pipes=True)
    except (OSError, ValueError) as error:
        detail = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(
            f'could not read study file "{path!s}": {detail.lower()}',
            'name another file, or a built-in study: see "pgassay studies"',
        ) from None
