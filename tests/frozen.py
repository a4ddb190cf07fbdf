"""What commands say of a corpus of records, kept and compared byte by byte: results stay while the code is rewritten.

usage: python -m tests.frozen plant CORPUS             write a record of every kind that the tests can plant
       python -m tests.frozen make FROZEN CORPUS       keep what each record of CORPUS says in the new folder FROZEN
       python -m tests.frozen compare FROZEN CORPUS    say it again; print what differs, exit 1 where anything does

A corpus is a folder of run directories, advice folders, captures, and results of other tools (every other folder with
files in it), at any depth. Commands run in this process, with the corpus as working directory.
"""

import argparse
import contextlib
import difflib
import filecmp
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from pgassay import cli
from pgassay.advise.folder import TASK_FILE
from pgassay.capture.files import HEAD as CAPTURE_FILE
from pgassay.record.directory import HEADER_FILE
from pgassay.testing.planted import make_run

Commands = dict[str, tuple[str, ...]]

PAGE = "page"
RUN: Commands = {
    "show.json": ("show", "--json"), "show.txt": ("show", "--verbose"), "brief.txt": ("show",),
    "show.csv": ("show", "--csv"), "check.txt": ("check",), "export.csv": ("export", "--csv"),
    "page.txt": ("report", "--no-figures", "--out", PAGE),
}  # fmt: skip
ADVICE: Commands = {"advice.txt": ("report", "--no-figures", "--out", PAGE)}
CAPTURE: Commands = {"ask.txt": ("ask", "--dry-run", "work_mem=4MB,64MB")}
RESULTS: Commands = {"lint.json": ("lint", "--json")}
GONE = ("schema.partition=orders BY HASH (id) INTO 8", "load.driver=go-tpc")
"""What an earlier version had: its records are read all the same."""
SPECIMENS = Path(__file__).parent / "record" / "specimens"
SAMPLES = Path(__file__).parent / "samples"
LINES = 40
"""So many lines of each difference are printed."""


def records(corpus: Path) -> Iterator[tuple[Path, Commands]]:
    """Every record below `corpus`, with the commands that are asked of it and the files that take what they say."""
    for name, folders, files in os.walk(corpus):
        folders.sort()
        known = {HEADER_FILE: RUN, TASK_FILE: ADVICE, CAPTURE_FILE: CAPTURE}
        kind = next((known[each] for each in known if each in files), RESULTS if files else None)
        if kind is not None:
            yield Path(name), kind
        if kind is not None and kind is not ADVICE:
            folders.clear()


def make(frozen: Path, corpus: Path) -> None:
    """Keep what each record says; a folder a record, the page among it."""
    corpus = corpus.resolve()
    frozen.mkdir()
    for path, commands in records(corpus):
        kept = frozen.resolve() / path.relative_to(corpus)
        kept.mkdir(parents=True, exist_ok=True)
        with contextlib.chdir(corpus), tempfile.TemporaryDirectory() as place:
            for name, (command, *words) in commands.items():
                options = [str(Path(place) / PAGE) if word == PAGE else word for word in words]
                said = _said([command, *options, str(path.relative_to(corpus))])
                (kept / name).write_text(said.replace(place, "PLACE").replace(str(corpus), "CORPUS"), encoding="utf-8")
            if (page := Path(place) / PAGE / "report.html").is_file():
                shutil.copy(page, kept)


def _said(words: list[str]) -> str:
    """Both outputs of a command, and its exit status."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            status: object = cli.main(words)
        except SystemExit as end:
            status = end.code
    return f"{out.getvalue()}{errors.getvalue()}exit status {status}\n"


def compare(frozen: Path, corpus: Path) -> int:
    """How many files differ from what was kept; each difference is printed."""
    with tempfile.TemporaryDirectory() as place:
        again = Path(place) / "again"
        make(again, corpus)
        names = sorted({path.relative_to(top) for top in (frozen, again) for path in top.rglob("*") if path.is_file()})
        different = [name for name in names if not _same(frozen / name, again / name)]
        for name in different:
            before, after = (_lines(top / name) for top in (frozen, again))
            lines = list(difflib.unified_diff(before, after, f"frozen/{name}", f"now/{name}", n=1, lineterm=""))
            print("\n".join(line[:300] for line in lines[:LINES]))
    print(f"{len(names) - len(different)} of {len(names)} files are the same")
    return len(different)


def _same(first: Path, second: Path) -> bool:
    return first.is_file() and second.is_file() and filecmp.cmp(first, second, shallow=False)


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.is_file() else []


def plant(corpus: Path) -> None:
    """Records that the tests plant, the old formats of a record, and results of other tools."""
    from tests.report import cacherun, crossed, cut_runs, driven, scaled, turned, undecided

    corpus.mkdir(exist_ok=True)
    plain: dict[str, Callable[[Path], object]] = {
        "plain": make_run,
        "unfinished": lambda path: make_run(path, finished=False),
        "hosts": lambda path: make_run(path, hosts={"h1": 1.0, "h2": 1.05, "h3": 0.95}, discarded=False),
        "hosts-of-days": lambda path: make_run(path, hosts={"h1": 1.0, "h2": 1.1}, days=2.0, drift=1.01),
        "cache": cacherun.make_run, "crossed": crossed.make_crossed, "cuts": cut_runs.make_cuts,
        "drives": driven.make_driven, "scaled": scaled.make_scaled, "turns": turned.make_turned,
        "undecided": undecided.make_undecided,
        "gone-factor": lambda path: make_run(path, fixed=GONE[:1], discarded=False),
        "gone-load": lambda path: make_run(path, fixed=GONE[1:], discarded=False),
    }  # fmt: skip
    for name, planted in plain.items():
        planted(corpus / name)
    shutil.copytree(SPECIMENS, corpus / "old")
    for path in SAMPLES.iterdir():
        if path.is_file():
            (corpus / "results" / path.name).mkdir(parents=True)
            shutil.copy(path, corpus / "results" / path.name)


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("action", choices=("plant", "make", "compare"))
    parser.add_argument("folders", nargs="+", type=Path)
    asked = parser.parse_args()
    if len(asked.folders) != (1 if asked.action == "plant" else 2):
        parser.error("one folder for plant, two for make and compare")
    if asked.action == "compare":
        return min(1, compare(*asked.folders))
    (plant if asked.action == "plant" else make)(*asked.folders)
    return 0


if __name__ == "__main__":
    sys.exit(main())
