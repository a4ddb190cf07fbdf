"""Words that a DBA would not use are not in code, messages and documents, and modules are named by what they hold.

Each phrase here was in the program once, in a place that a reader could not make sense of without asking.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("benchmarks", "crates", "docs", "examples", "src", "tests")
SUFFIXES = {".py", ".rs", ".md", ".toml", ".html", ".sql"}
PHRASES = {
    r"\b(is|are|was|were|to|can|cannot|could|be) (not )?(to )?be had\b": "say available, or obtained",
    r"\bspoil(t|s|ed)\b": "say invalid for a trial, discarded for what becomes of it",
    r"\bby its own doing\b": "say because of its settings",
    r"\blet(s|ting)? go of\b": "say remove, release or evict",
    r"\blongest unused\b": "say least recently used",
    r"\bthat is known here\b": "say unrecognised",
    r"\bat a stroke\b": "say at once",
    r"\bnobody told\b": "say not known",
    r"\bgoes on by itself\b": "say continues automatically",
    r"\bsw(ept|eeps?) away\b": "say removed",
}
ANY = re.compile("|".join(PHRASES), re.IGNORECASE)
VAGUE = {
    "companions", "conducting", "every", "found", "helpers", "lasting", "misc", "outlook", "part", "settling",
    "soundness", "together", "told", "utils", "wanted", "wearing", "wishes",
}  # fmt: skip
"""Names of modules that say nothing of what is in them."""


def faults(text: str) -> list[str]:
    """Every phrase that `text` should not have, as `:line "phrase": what to say`."""
    if not ANY.search(text):
        return []
    return [
        f':{number} "{found.group()}": {instead}'
        for number, line in enumerate(text.splitlines(), start=1)
        for phrase, instead in PHRASES.items()
        for found in re.finditer(phrase, line, flags=re.IGNORECASE)
    ]


def texts() -> list[Path]:
    """Everything that people read, but this list."""
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES]
    return sorted({*files, *ROOT.glob("*.md")} - {Path(__file__)})


def test_no_text_has_such_a_phrase() -> None:
    files = texts()
    assert ROOT / "README.md" in files
    assert [f"{path.relative_to(ROOT)}{fault}" for path in files for fault in faults(path.read_text())] == []


def test_no_module_has_a_vague_name() -> None:
    modules = [path for folder in ("src", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    named = {path: path.stem.removeprefix("test_").removeprefix("_") for path in modules}
    assert [str(path.relative_to(ROOT)) for path, name in named.items() if name in VAGUE] == []


@pytest.mark.parametrize(
    "line",
    [
        "no root is to be had",
        "it cannot be had",
        "a spoilt trial",
        "failed by its own doing",
        "let go of the oldest",
        "which nobody told",
    ],
)
def test_a_phrase_is_found(line: str) -> None:
    assert len(faults(f"fine\n{line}\n")) == 1


@pytest.mark.parametrize("line", ["it had to be", "let it go", "unused for long", "known since 1986"])
def test_innocent_words_are_not(line: str) -> None:
    assert faults(line) == []
