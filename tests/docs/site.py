"""The pages of the documentation's site: the repository's own as they are, and those that are made from the code.

`python -m tests.docs.site DIR [RUNS]` writes them into DIR in the repository's shape, so that every link between them
holds on the site as it does in the repository; the gallery (`gallery.py`) shows the newest run of each study below
RUNS, or what the repository keeps of one.
`python -m tests.docs.site --check SITE` looks through what mkdocs has built: nothing is loaded from elsewhere.
"""

import argparse
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path

import pgassay
from pgassay.cli.completion import actions_of, program, walk
from tests.docs import gallery
from tests.docs.pages import ROOT
from tests.docs.tables import code, row

OWN = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
"""Pages beside those of docs/."""
FILES = ("LICENSE", "CITATION.cff", "docs/evidence", "docs/images", "examples")
"""What the pages point at. Pages of evidence are on the site, but not in its navigation."""
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src"}


def made() -> dict[str, str]:
    """The pages that are made from the code alone, by their path on the site."""
    return {"reference/options.md": _text(options()), "reference/library.md": _text(library())}


def options() -> Iterator[str]:
    """Every command with its options, as its parser has them."""
    yield from ("# Every option", "", "Made from the parsers, as `--help` is.")
    _, *every = walk(program())
    for each in every:
        level = "##" if len(each.prog.split()) == 2 else "###"
        yield from ("", f"{level} {each.prog}", "", each.description or "")
        usage = " ".join(each.format_usage().removeprefix("usage: ").split())
        yield from ("", "```prose", usage, "```")
        rows = [row((_names(action), _help(each, action))) for action in actions_of(each)]
        yield from (["", row(("option", "meaning")), "|---|---|", *rows] if rows else [])


def library() -> Iterator[str]:
    """A place for each name of the library, which mkdocstrings fills from the sources."""
    yield from ("# The library's names", "")
    yield "What `import pgassay` offers; [the library](../docs/commands.md#from-python) shows it at work."
    for name in pgassay.__all__:
        yield from ("", f"::: pgassay.library.{name}")


def write(folder: Path, runs: Path | None = None) -> None:
    """Put all pages and what they point at into a folder of their own, which is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in [ROOT / name for name in (*OWN, *FILES)] + sorted((ROOT / "docs").glob("*.md")):
        target = folder / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            shutil.copytree(path, target, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(path, target)
    for name, text in {**made(), **gallery.files(runs)}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


class _Loads(HTMLParser):
    """What a page loads by itself; a link that a reader may follow is not that."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "link" and given.get("rel") not in {"canonical", "prev", "next"}:
            self.found.append(given.get("href", ""))
        self.found.append(given.get(LOADED.get(tag, ""), ""))


def loaded_from_elsewhere(page: str) -> list[str]:
    """The addresses on other machines that a page would load."""
    loads = _Loads()
    loads.feed(page)
    return [each for each in loads.found if re.match(r"(?:https?:)?//", each)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pages, or look through the built ones; returns the exit status."""
    parser = argparse.ArgumentParser(description="the pages of the documentation's site")
    parser.add_argument("folder", type=Path)
    parser.add_argument("runs", type=Path, nargs="?")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args(arguments)
    if not given.check:
        write(given.folder, given.runs)
        return 0
    pages = sorted(given.folder.rglob("*.html"))
    faults = [(page, each) for page in pages for each in loaded_from_elsewhere(page.read_text(encoding="utf-8"))]
    for page, each in faults:
        print(f"pgassay: error: {page} would load {each}", file=sys.stderr)
    return 2 if faults or not pages else 0


def _names(action: argparse.Action) -> str:
    value = action.metavar if isinstance(action.metavar, str) else ",".join(map(str, action.choices or ()))
    value = value or action.dest
    if not action.option_strings:
        return code(value)
    return ", ".join(map(code, action.option_strings)) + ("" if action.nargs == 0 else f" {code(value)}")


def _help(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    return gallery.plain((action.help or "") % {**vars(action), "prog": parser.prog})


def _text(lines: Iterator[str]) -> str:
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
