"""What a bisection found, in words and as plain values: the commit, its effect, the costs that moved, what was skipped.

Every number has its interval, and what is not shown is said to be so.
"""

from math import exp, inf
from typing import Any

from pgassay.analysis.bisection import SURE, Span
from pgassay.analysis.effects import Effect
from pgassay.lab.bisection import Answer
from pgassay.study.responses import Scale

_LISTED = 5


def headline(answer: Answer) -> str:
    """One sentence."""
    title = answer.primary.title
    if not answer.differ:
        if answer.difference.half == inf:
            return f"no difference shown in {title}: {answer.blocks} blocks have no interval"
        ends = [abs(exp(end) - 1.0) for end in _ends(answer)]
        return f"no difference shown: {title} differs by at most ± {100.0 * max(ends):.1f} % ({answer.blocks} blocks)"
    if answer.span is None or answer.change is None:
        best = max(answer.known, key=lambda span: span.share)
        return (
            f"not found in {answer.blocks} blocks: most probable is {_named(answer, best)} ({100.0 * best.share:.0f} %)"
        )
    change = answer.change
    effect = _percent(change.estimate, change.low, change.high)
    return (
        f"{_named(answer, answer.span)}: {title} {effect} ({100.0 * answer.span.share:.0f} %, {answer.blocks} blocks)"
    )


def text(answer: Answer) -> str:
    """The answer on a terminal."""
    lines = [headline(answer)]
    if answer.change is not None and answer.change.doubtful:
        lines.append(f"doubtful: the commits do not fit one change (p = {answer.change.fit:.2g}); there may be several")
    if answer.span is not None:
        moved = [f"  {each.response}: {_moved(each)}" for each in answer.costs]
        lines += ["costs that moved:", *moved] if moved else ["no cost is shown to have moved"]
    elif answer.differ:
        likely = sorted(answer.known, key=lambda span: -span.share)[:_LISTED]
        lines += [f"  {100.0 * each.share:3.0f} %  {_named(answer, each)}" for each in likely]
    lines += [f"skipped: {answer.commits[place].name}: {why}" for place, why in sorted(answer.skipped.items())]
    return "\n".join(lines)


def plain(answer: Answer) -> dict[str, Any]:
    """For scripts."""
    low, high = (exp(end) if abs(end) != inf else None for end in _ends(answer))
    change, span = answer.change, answer.span
    commits = answer.commits
    return {
        "format": 1,
        "response": answer.primary.name,
        "differ": answer.differ,
        "good_against_bad": {"estimate": exp(answer.difference.mean), "low": low, "high": high},
        "blocks": answer.blocks,
        "sure": SURE,
        "commit": commits[span.upto].sha if span and span.upto - span.after == 1 else None,
        "after": commits[span.after].sha if span else None,
        "upto": commits[span.upto].sha if span else None,
        "probability": span.share if span else None,
        "effect": {"estimate": change.estimate, "low": change.low, "high": change.high} if change else None,
        "fit": change.fit if change else None,
        "costs": [
            {"response": each.response, "estimate": each.estimate, "low": each.low, "high": each.high}
            for each in answer.costs
        ],
        "spans": [
            {"after": commits[each.after].sha, "upto": commits[each.upto].sha, "probability": each.share}
            for each in answer.known
        ],
        "skipped": [{"commit": commits[place].sha, "why": why} for place, why in sorted(answer.skipped.items())],
    }


def _ends(answer: Answer) -> tuple[float, float]:
    return answer.difference.mean - answer.difference.half, answer.difference.mean + answer.difference.half


def _named(answer: Answer, span: Span) -> str:
    if span.upto - span.after == 1:
        return answer.commits[span.upto].name
    between = span.upto - span.after
    return f"between {answer.commits[span.after].name} and {answer.commits[span.upto].name} ({between} commits)"


def _percent(*ratios: float) -> str:
    estimate, low, high = (100.0 * (ratio - 1.0) for ratio in ratios)
    return f"{estimate:+.1f} % [{low:+.1f}, {high:+.1f}]"


def _moved(effect: Effect) -> str:
    if effect.scale is Scale.RATIO:
        return _percent(effect.estimate, effect.low, effect.high)
    return f"{effect.estimate:+.3g} [{effect.low:+.3g}, {effect.high:+.3g}]"
