"""The answer as Markdown, for a job's summary or a comment: what `show` prints on one screen, in full.

GitHub's flavour, since tables are not in CommonMark ("GitHub Flavored Markdown Spec", 4.10). Texts are escaped: the
name of a study, or of a treatment in somebody's script, must not become markup.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pgassay import __version__
from pgassay.outgoing import visible
from pgassay.report import contents, decide, doubts, power_cuts, verdict, words
from pgassay.report.reasons import reasons
from pgassay.report.section import Block, Sentences, Surface, Table, Verdicts
from pgassay.report.text import HEADLINE

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

_NUMBERED = "|".join(rf"(?<=^\d{{{digits}}})" for digits in range(1, 10))
_MARKUP = re.compile(rf"[\\`*_\[\]|~$@#]|:(?=//)|(?<=\bwww)\.|^[=+-]|(?:{_NUMBERED})[.)]", re.IGNORECASE)
"""What GitHub would take for markup, mathematics, a mention or a link; at the beginning also for a list."""


def render(findings: "Findings") -> str:
    """Headline, verdicts, thresholds, reasons and doubts, ending with a newline."""
    return "\n".join(_lines(findings)) + "\n"


def _lines(findings: "Findings") -> Iterator[str]:
    yield f"## {escaped(findings.study.title)}"
    answers = [section for section in contents.sections() if section.name == HEADLINE]
    yield from _paragraphs(block for section in answers for block in section.shown(findings, Surface.TERMINAL))
    shown = verdict.SECTION.shown(findings, Surface.TERMINAL)
    rows = [row for block in shown if isinstance(block, Verdicts) for row in block.rows]
    if rows:
        against = f"{findings.primary.title} against {findings.baseline}"
        subject = power_cuts.question(findings) if power_cuts.decide(findings) else against
        yield from ("", f"### {escaped(words.capital(subject))}", "")
        head = ("treatment", "effect", "verdict", "blocks")
        cells = [(row.place, row.effect, row.text, row.blocks) for row in rows]
        said = [place for place in range(len(head)) if any(row[place] for row in cells)]
        yield from _table([head[place] for place in said], [[row[place] for place in said] for row in cells])
    for table in decide.blocks(findings):
        if isinstance(table, Table):
            yield from ("", f"### {escaped(table.title)}", "", *_table(table.head, table.rows))
    yield from _listed("Why", reasons(findings))
    yield from _listed("What to distrust", doubts.reasons(findings))
    yield from ("", f"Run {escaped(findings.run.path.name)}, pgassay {escaped(__version__)}")


def _paragraphs(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, Sentences):
            for text in filter(None, block.texts):
                yield from ("", escaped(words.sentence(text)) + ("" if block.small else "."))


def _listed(title: str, texts: Sequence[str]) -> Iterator[str]:
    if texts:
        yield from ("", f"### {title}", "", *(f"- {escaped(text)}" for text in texts))


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    yield f"| {' | '.join(map(escaped, head))} |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield f"| {' | '.join(escaped(str(cell)) for cell in row)} |"


def escaped(text: str) -> str:
    """The text as Markdown that shows it letter by letter, on one line."""
    line = visible(" ".join(text.split())).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKUP.sub(lambda found: f"\\{found[0]}", line)
