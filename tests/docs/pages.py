"""What the documents show: their blocks of code by language, and every `pgassay …` that they name."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHOWN = tuple(ROOT / "docs" / "evidence" / name for name in ("commits.md", "published-studies.md", "statistics.md"))
"""Pages of evidence whose commands and code are tried, too."""
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")), *SHOWN)


@dataclass(frozen=True)
class Example:
    """A block of code or a command, and the page that shows it; a block of unmarked language has the language ""."""

    page: str
    text: str
    language: str = ""

    def __str__(self) -> str:
        first = self.text.strip().splitlines()[0]
        return f"{self.page}: {first}"


def blocks(language: str) -> list[Example]:
    """Every fenced block of one language, in the order of the pages."""
    return [example for page in PAGES for example in parts(page) if example.language == language]


def commands() -> list[Example]:
    """Every different command in unmarked blocks and in `inline code`, without comments, sorted."""
    found: dict[str, str] = {}
    for page in PAGES:
        for example in parts(page):
            if example.language == "":
                lines = [re.split(r"\s#\s", line)[0] for line in example.text.splitlines()]
                shown = [command.strip() for line in lines for command in line.split(";")]
            else:
                shown = re.findall(r"`(pgassay [^`]+)`", example.text) if example.language == "prose" else []
            for command in shown:
                if command.startswith("pgassay "):
                    found.setdefault(" ".join(command.split()), page.name)
    return [Example(page, command) for command, page in sorted(found.items())]


def words(command: str) -> list[str]:
    """The words after `pgassay`: what a synopsis puts in brackets is there, of alternatives the first."""
    return [re.sub(r"\\?\|.*", "", word) for word in shlex.split(re.sub(r"[\[\]…]", "", command))][1:]


def parts(page: Path) -> Iterator[Example]:
    """The fenced blocks of a page, and what stands between them as the language `prose`."""
    language, lines, inside = "prose", list[str](), False
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            yield Example(page.name, "\n".join(lines), language)
            inside = not inside
            language, lines = (line[3:].strip() if inside else "prose"), []
        else:
            lines.append(line)
    yield Example(page.name, "\n".join(lines), language)
