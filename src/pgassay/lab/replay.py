"""Makes a record's decisions again: the same design must decide the same from the same record (`pgassay check`)."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pgassay import __version__
from pgassay.design.schedule import RULE, RULES
from pgassay.errors import PgassayError
from pgassay.lab.catalogue import every_factor
from pgassay.lab.decisions import UNTOLD, disagreements, rules_of
from pgassay.load import drivers
from pgassay.record.calibrations import STUDY
from pgassay.record.check import CODE
from pgassay.record.formats import IMPORTED
from pgassay.record.reading import Run
from pgassay.study.findings import Finding, Severity
from pgassay.study.parsing import parse, parse_recorded

_LINES_LISTED = 5
"""As many lines of a journal are named."""


def replay(path: Path) -> Iterator[Finding]:
    """Decisions that the same design would not make from the same record; nothing for calibrations and imported runs.

    Decisions of another rule cannot be made again, nor those of a study whose factor or load this version does not
    know. Another version may round otherwise, and records without a rule may be of another, so for these a difference
    is a note.
    """
    run = Run.open(path)
    if run.header.study == STUDY or IMPORTED in run.host:
        return
    rules, version = rules_of(run.header, run.journal), run.header.program_version
    told = rules - {UNTOLD}
    if told - RULES or len(told) > 1:
        text = _other_rule(version, sorted(told - {RULE}), RULE)
        yield Finding(CODE, Severity.NOTE, text, where="journal.jsonl")
        return
    try:
        if unknown := _unknown(run):
            text = f"its decisions were not replayed: this version does not know {', '.join(unknown)}"
            yield Finding(CODE, Severity.NOTE, text, where="journal.jsonl")
            return
        study = parse(run.header.study, run.study, every_factor())
        lines = disagreements(study, run.header, run.trials, run.journal)
    except PgassayError as error:
        yield Finding(
            CODE, Severity.ERROR, f"its decisions could not be replayed: {error.message}", where="journal.jsonl"
        )
        return
    if lines and (UNTOLD in rules or version != __version__):
        text = older_decisions(version, lines, rule_known=UNTOLD not in rules)
        yield Finding(CODE, Severity.NOTE, text, where="journal.jsonl")
        return
    for line in lines:
        yield Finding(
            CODE,
            Severity.ERROR,
            "the decision differs from the one that follows from the study, the seed and the trials before it",
            where=f"journal.jsonl line {line}",
        )


def _unknown(run: Run) -> list[str]:
    """Factors and loads of plug-ins that are not installed here, or of earlier versions."""
    study, catalogue = parse_recorded(run.header.study, run.study), every_factor()
    levels = [each for arm in study.arms for each in study.levels_of(arm).items()]
    loads = {each.name for each in drivers.known()}
    names = [name for name, _ in levels if catalogue.find(name) is None]
    names += [f'the load "{each.typed}"' for name, each in levels if name == "load.driver" and each.typed not in loads]
    return list(dict.fromkeys(names))


def _other_rule(version: str, rules: Sequence[int], rule: int) -> str:
    """`check` does not ask the design again, which decides by another rule than the record's."""
    theirs = " and ".join(map(str, rules))
    made = f"pgassay {version} made them with rule {theirs}, this one has rule {rule}"
    return f"its decisions were not replayed: {made}"


def older_decisions(version: str, lines: Sequence[int], *, rule_known: bool) -> str:
    """The design, asked again, decides otherwise, and may have changed since."""
    named = ", ".join(map(str, lines[:_LINES_LISTED])) + (" …" if len(lines) > _LINES_LISTED else "")
    why = "" if rule_known else " before records named the rule of their decisions, which may have changed since"
    return (
        f"{len(lines)} {'decision' if len(lines) == 1 else 'decisions'} (journal line {named}) would be "
        f"different now: pgassay {version} wrote the record{why}"
    )
