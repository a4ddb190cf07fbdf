"""What to do, in one sentence: the last of a headline. It follows the verdicts and never goes beyond them.

The first rule that has something to say is taken. What is not crash-safe, or answers otherwise than the baseline, is
never recommended, and what is better at some levels only is recommended only there.
"""

from collections.abc import Callable, Sequence

from pgassay.analysis.numbers import duration, plural
from pgassay.analysis.verdicts import Kind
from pgassay.report.case import (
    EACH_MAX,
    Case,
    Change,
    Standing,
    Text,
    joined,
    listed,
    moved_of,
    not_judged,
    place_of,
    short,
    size_of,
)
from pgassay.report.phrases import of
from pgassay.study.responses import Better

LISTED_MAX = 3
"""As many treatments are named of each kind."""


def advice(case: Case, subjects: Sequence[str], text: Text) -> str:
    """What to do."""
    if case.standings:
        passing = [each.treatment for each in case.standings if _passes(each)]
        return by_thresholds(case.standings, text) + _traded(case, passing)
    if case.objections:
        return "repeat the comparison in randomised blocks (pgassay run, pgassay compare)"
    for rule in _RULES:
        if found := rule(case, subjects, text):
            return found
    return ""


def by_thresholds(standings: Sequence[Standing], text: Text) -> str:
    """Which treatments pass the user's thresholds, and which of them the others fail."""
    total = max(each.passed + len(each.failed) + len(each.unknown) for each in standings)
    passing = [each.treatment for each in standings if _passes(each)]
    failing = [each for each in standings if each.failed]
    still = [each for each in standings if each.unknown and not each.failed]
    parts = []
    if 0 < len(passing) <= LISTED_MAX:
        parts.append(f"{listed(passing)} {'passes' if len(passing) == 1 else 'pass'}")
    elif passing:
        parts.append(f"{text.count(len(passing), 'that pass')} pass")
    parts += [f"{each.treatment} fails ({', '.join(each.failed)})" for each in failing[:LISTED_MAX]]
    parts += [f"{each.treatment} is not known ({', '.join(each.unknown)})" for each in still[:LISTED_MAX]]
    rest = sum(max(0, len(each) - LISTED_MAX) for each in (failing, still))
    parts += [f"{text.count(rest, 'others that do not pass')} others do not pass"] if rest else []
    which = "threshold" if total == 1 else f"{text.count(total, 'thresholds')} thresholds"
    return f"by your {which}, {'; '.join(parts)}"


def choices(case: Case) -> Sequence[str]:
    """Treatments that the advice gives a reason to take, and so those that a reader needs the steps for.

    Those that pass the user's thresholds, or those that are better, or else those that gain in another response. None
    that is not crash-safe, or answers otherwise than the baseline, whatever it gains.
    """
    if case.objections:
        return ()
    kinds, allowed = _kinds(case), {*_kinds(case)} - {*case.unsafe, *case.otherwise}
    if case.standings:
        return [each.treatment for each in case.standings if each.treatment in allowed and _passes(each)]
    better = [name for name, found in kinds.items() if Kind.BETTER in found]
    if better:
        mine = [name for name in better if name in allowed]
        safe = [name for name in mine if kinds[name] <= {Kind.BETTER, Kind.EQUIVALENT}]
        return safe or ([name for name in mine if Kind.WORSE in kinds[name]] or mine)[:1]
    judged = {each.effect.treatment for each in case.verdicts if not not_judged(each)}
    return [
        name
        for name, found in kinds.items()
        if name in allowed & judged and not found & {Kind.WORSE, Kind.FAILED} and _reasons(case, name, adverse=False)
    ]


def _kinds(case: Case) -> dict[str, set[Kind]]:
    kinds: dict[str, set[Kind]] = {}
    for each in case.verdicts:
        kinds.setdefault(each.effect.treatment, set()).add(each.verdict.kind)
    return kinds


def _passes(standing: Standing) -> bool:
    return not standing.failed and not standing.unknown


def _reasons(case: Case, treatment: str, *, adverse: bool) -> Sequence[str]:
    moved = [(r, effects) for r, effects in moved_of(case, treatment) if r.better is not Better.NEITHER]
    return list(dict.fromkeys(of(r).reason for r, effects in moved if Change(r, effects[0]).adverse is adverse))


def _by_other_responses(case: Case, text: Text) -> str:
    """What speaks for a treatment that is not better, and against it; empty where nothing speaks for one."""
    names = choices(case)
    if not names:
        return ""
    gains, prices = (
        list(dict.fromkeys(reason for name in names for reason in _reasons(case, name, adverse=adverse)))
        for adverse in (False, True)
    )
    if {*gains} & {*prices}:
        return f"decide by {joined(list(dict.fromkeys((*gains, *prices))))}"
    which = listed(names, "or") if len(names) <= LISTED_MAX else f"one of {text.count(len(names), 'that gain')} others"
    count = f"{joined(gains)} {'counts' if len(gains) == 1 else 'count'}"
    if not prices:
        lost = _traded(case, names)
        return f"take {which} if {count}{lost or ': nothing was shown to speak against it'}"
    baseline = short(case.baseline, beside=names[0])
    return f"take {which} only if {count} more than {joined(prices)}, else keep {baseline}{_traded(case, names)}"


def _recommended(case: Case, subjects: Sequence[str], text: Text) -> str:
    return case.recommended


def _take(case: Case, subjects: Sequence[str], text: Text) -> str:
    """Of treatments that are better, which to take."""
    kinds = _kinds(case)
    better = [name for name, found in kinds.items() if Kind.BETTER in found]
    if not better:
        return ""
    taken = choices(case)
    if not taken:
        return _refused(case, better)
    if not kinds[taken[0]] <= {Kind.BETTER, Kind.EQUIVALENT}:
        on = f" of {', '.join(case.varied)}" if case.varied else ""
        rest = "worse" if Kind.WORSE in kinds[taken[0]] else "not shown to be"
        only = f"take {taken[0]} only where it is better: at other levels{on} it is {rest}"
        return only + _traded(case, taken[:1])
    return _among(case, taken, text) + _traded(case, taken)


def _traded(case: Case, names: Sequence[str]) -> str:
    """What of the recommended may be lost: nobody is to trade durability unawares."""
    lost = {name: case.traded[name] for name in names if name in case.traded}
    alone = len(names) == 1
    return "".join(f"; {'it' if alone else name} trades durability: {what}" for name, what in lost.items())


def _refused(case: Case, better: Sequence[str]) -> str:
    """Why nothing that is better is recommended, by whole names: without its switch `drive.wal=csd` would be blamed."""
    unsafe = [name for name in better if name in case.unsafe]
    if unsafe:
        verb = "is" if len(unsafe) == 1 else "are"
        return f"{_whole(unsafe)} {verb} not crash-safe: measured here, and never recommended"
    verb = "answers" if len(better) == 1 else "answer"
    return f"{_whole(better)} {verb} statements otherwise than the baseline: find out why before anything else"


def _whole(names: Sequence[str]) -> str:
    """Names with all of their levels; those of several factors have commas of their own."""
    return joined(names) if len(names) < 3 else f"{'; '.join(names[:-1])}; and {names[-1]}"


def _among(case: Case, safe: Sequence[str], text: Text) -> str:
    """Which of those that may be taken: the only one, or by what it costs; of several by their price, or the gain."""
    against = list(dict.fromkeys(reason for name in safe for reason in _reasons(case, name, adverse=True)))
    if len(safe) == 1:
        unless = f", unless {joined(against)} {'counts' if len(against) == 1 else 'count'} more" if against else ""
        return f"take {safe[0]}{unless}"
    if against:
        which = (
            listed(safe, "or")
            if len(safe) <= LISTED_MAX
            else f"one of the {text.count(len(safe), 'better ones')} better"
        )
        return f"take {which}, by how much {joined(against)} {'counts' if len(against) == 1 else 'count'}"
    mine = (each for each in case.verdicts if each.verdict.kind is Kind.BETTER and each.effect.treatment in safe)
    most = max(mine, key=size_of).effect.treatment
    rest = len(safe) - 1
    others = f"{text.count(rest, 'others that are better')} more {'is' if rest == 1 else 'are'} better, too"
    return f"take {most}, which gained most; {others}, and they were not compared with each other"


def _early_advice(case: Case, subjects: Sequence[str], text: Text) -> str:
    """Before five blocks only more of them help."""
    early = [each for each in case.verdicts if not_judged(each)]
    if not early or len(early) < sum(each.verdict.kind is not Kind.NOT_COMPARED for each in case.verdicts):
        return ""
    if case.imported:
        return "these runs are too few to decide anything"
    needed = max((each.verdict for each in early), key=lambda each: each.more_blocks or 0)
    blocks = needed.more_blocks or 0
    more = f"at least {text.count(blocks, 'more blocks')} more {plural('block', blocks)}{_time(needed.more_s, text)}"
    if case.disturbed is not None and 2 * case.disturbed.discarded >= case.disturbed.trials:
        return f"run it again while the machine is quiet: it takes {more}"
    if case.finished:
        return f"{going_on(case.extensible)}: it takes {more}"
    return f"{'pgassay resume goes on with it' if case.interrupted else 'the run has not ended'}: it takes {more}"


def going_on(extensible: bool) -> str:
    """How a finished run gets the blocks that a verdict takes."""
    return "pgassay resume RUN --more TIME goes on with it" if extensible else "run it again with larger --blocks"


def _time(seconds: float | None, text: Text) -> str:
    return "" if seconds is None else f" ({text.number(duration(seconds), seconds, 'seconds')})"


def _open(case: Case, subjects: Sequence[str], text: Text) -> str:
    """While the primary is unresolved: the other responses, and what an answer would take."""
    still = [each for each in case.verdicts if each.verdict.kind is Kind.UNRESOLVED]
    if not still:
        return ""
    worse = [each.effect.treatment for each in case.verdicts if each.verdict.kind is Kind.WORSE]
    against = list(dict.fromkeys(reason for name in subjects for reason in _reasons(case, name, adverse=True)))
    known = [each for each in still if each.verdict.more_blocks is not None]
    more = ""
    if known and not case.imported:
        nearest = min(known, key=lambda each: each.verdict.more_blocks or 0)
        blocks = nearest.verdict.more_blocks or 0
        counted = text.count(blocks, "more blocks")
        about = f"about {counted} more {plural('block', blocks)}{_time(nearest.verdict.more_s, text)}"
        first = "" if len(case.verdicts) == 1 else f" with {place_of(nearest.effect)}"
        more = f"{about} may settle {of(case.primary).name}{first}"
    if worse:
        keep = f"keep {case.baseline} rather than {listed(list(dict.fromkeys(worse))[:EACH_MAX], 'or')}"
        return f"{keep}; {more}" if more else keep
    if found := _by_other_responses(case, text) or (f"keep {case.baseline} for now" if against else ""):
        return f"{found}; {more}" if more else found
    if more:
        return more
    if case.imported:
        return "these runs do not decide it"
    return "more blocks than can be run would be needed: decide by other reasons, or ask for a coarser resolution"


def _settled(case: Case, subjects: Sequence[str], text: Text) -> str:
    """Nothing better, and everything decided: worse, equivalent, failed or refused."""
    kinds = {each.verdict.kind for each in case.verdicts}
    if Kind.DIFFERENT in kinds:
        return "neither direction is better by itself: decide by what you need"
    if kinds <= {Kind.FAILED, Kind.WORSE}:
        return f"keep {case.baseline}"
    if found := _by_other_responses(case, text):
        return found
    if kinds <= {Kind.NOT_COMPARED}:
        return "see the costs and the space, which can be compared"
    return f"keep {case.baseline}: no gain was shown"


_RULES: Sequence[Callable[[Case, Sequence[str], Text], str]] = (_early_advice, _recommended, _take, _open, _settled)
"""The first that has something to say gives the advice."""
