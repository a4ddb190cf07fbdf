"""What to distrust: how many trials count, how the run ended, who disturbed it, which trials were not steady.

Trials that others disturbed are kept, named and left out; what a treatment did to itself is its own outcome.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pgassay.report import comparison, crash_safety, words
from pgassay.report.seconds import doubts
from pgassay.report.section import Block, Section, Sentences, Table
from pgassay.study.responses import Status

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

_KINDS = {
    Status.INVALID: "discarded because of others, run again",
    Status.OUTCOME: "the treatment's own outcome",
}


def _blocks(findings: "Findings") -> Iterator[Block]:
    # First, since what could not be read is known only when it was asked for.
    steadiness = tuple(doubts(findings.trials, findings.courses, findings.run.responses))
    kinds = Counter(trial.status for trial in findings.trials)
    counted = f"{words.counted(len(findings.trials), 'trial')} in {words.counted(findings.blocks, 'block')}"
    general = [", ".join((counted, *(f"{count} {kind}" for kind, count in kinds.items())))]
    general += [f"the run ended: {findings.end}", *findings.remarks, findings.disturbance, findings.overhead]
    yield Sentences([each for each in general if each], joined=True)
    if findings.study.design.fixed_order and not findings.imported:
        yield Sentences((comparison.order(findings.study),))
    warnings = crash_safety.warnings(findings.study)
    yield Sentences((*warnings, *findings.overloads, *steadiness, *findings.seconds.unread))
    lost = (*findings.discarded, *findings.outcomes)
    if lost:
        rows = [
            (
                str(trial.number),
                trial.place.name,
                _KINDS[trial.status],
                "; ".join(f"{reason.code}: {reason.detail}" for reason in trial.reasons),
            )
            for trial in lost
        ]
        yield Table(("trial", "treatment", "kind", "why"), rows)
    else:
        yield Sentences(("no trial was discarded, none failed",))
    yield Sentences(tuple(f"dropped: {arm}: {reason}" for arm, reason in findings.dropped.items()))
    left_out = [each.effect for each in findings.verdicts if each.effect.left_out]
    yield Sentences(tuple(f"{effect.place.name}: {'; '.join(effect.left_out)}" for effect in left_out), small=True)


def _plain(findings: "Findings") -> Mapping[str, object]:
    _ = findings.courses  # what could not be read is known only when it was asked for
    return {
        "ended": findings.end,
        "finished": findings.finished,
        "blocks": findings.blocks,
        "trials": {
            "all": len(findings.trials),
            "invalid": len(findings.discarded),
            "outcome": len(findings.outcomes),
        },
        "unread": findings.seconds.unread,
        "remarks": list(findings.remarks),
        "not_crash_safe": list(crash_safety.warnings(findings.study)),
        "overloads": list(findings.overloads),
        "overhead": findings.overhead,
        "dropped": dict(findings.dropped),
    }


SECTION = Section("trust", "What to distrust", _blocks, _plain, link="What to distrust")
