"""What stops the load, in words: a row an arm, and a sentence for each stretch of a curve that one cause stops."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from pgassay.report import words
from pgassay.report.covariates import in_order
from pgassay.report.diagnosing import Diagnosed
from pgassay.report.part import Part


def part(found: Sequence[Diagnosed]) -> Part:
    """Cause and evidence of each arm."""
    rows = [("at", "stopped by", "evidence")]
    for each in found:
        cause, _, evidence = each.diagnosis.text.partition(": ")
        rows.append((each.place, cause, evidence))
    missing = dict.fromkeys(reason for each in found for reason in each.diagnosis.missing)
    notes = ("pgassay diagnose RUN shows every candidate with its numbers", *missing)
    return Part("What stops the load", tuple(rows), notes)


def sentences(found: Sequence[Diagnosed]) -> Iterator[str]:
    """Along a covariate: which cause stops which stretch of each curve."""
    curves: dict[str, list[Diagnosed]] = {}
    for each in found:
        if each.covariate:
            curves.setdefault(words.place(each.treatment, each.condition), []).append(each)
    for name, curve in curves.items():
        by_place = {each.covariate: each for each in curve}
        ordered = [by_place[covariate] for covariate in in_order(list(by_place))]
        stretches = []
        for cause, members in groupby(ordered, key=lambda each: each.diagnosis.cause):
            places = [each.covariate.partition("=")[2] for each in members]
            at = places[0] if len(places) == 1 else f"{places[0]} to {places[-1]}"
            stretches.append(f"{cause} ({at})")
        yield f"{name or 'the load'}: what stops it: {', then '.join(stretches)}"
