"""The answer in one to three sentences: what was found, what it costs, what to do. Plain values in, texts out.

Nothing is computed here. Every number comes from an effect, a verdict or a threshold, is rounded to three significant
digits, and stands unrounded in the JSON of its section. The sentences follow the verdicts: what is unresolved
there is not shown here, what was refused is not compared, and what is not crash-safe is never recommended.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, TypeAlias

from pgassay.analysis.boundaries import FIRST_LOOK
from pgassay.analysis.effects import Effect
from pgassay.analysis.numbers import decimals_of, duration, plural, rounded, tenths
from pgassay.analysis.verdicts import Kind
from pgassay.report.formatting import PROVISIONAL
from pgassay.report.section import Badge
from pgassay.study.document import COUNTED_RESPONSE
from pgassay.study.levels import Place
from pgassay.study.responses import Better, Response, Scale

if TYPE_CHECKING:
    from pgassay.report.findings import Judged


@dataclass(frozen=True)
class Phrase:
    """`name` is used in "no difference in …", `reason` in "decide by …"; then subject and ends of a sentence.

    `subject` may hold `{work}`, the unit of a load's work; `times` follows "2.25 times".
    """

    name: str
    reason: str
    subject: str
    more: str = "higher"
    less: str = "lower"
    times: str = "as high"
    unit: str = ""
    brief: str = ""
    """In a badge, where the name is too long for one."""

    @property
    def badge(self) -> str:
        """`+26 % space`: what stands behind the number."""
        return self.brief or self.name


_TIME = ("more time", "less time", "as long")
_SIZE = ("larger", "smaller", "as large")
_PHRASES: Mapping[str, Phrase] = {
    "tps": Phrase("throughput", "throughput", "throughput is", brief="speed"),
    "qps": Phrase("statements per second", "throughput", "the number of statements per second is"),
    "iops": Phrase("reads and writes per second", "throughput", "the number of reads and writes per second is"),
    "latency_ms": Phrase("mean latency", "latency", "mean latency is"),
    "latency_p50_ms": Phrase("median latency", "latency", "median latency is"),
    "latency_p95_ms": Phrase("p95 latency", "latency", "p95 is"),
    "latency_p99_ms": Phrase("p99 latency", "latency", "p99 is"),
    "latency_p999_ms": Phrase("p99.9 latency", "latency", "p99.9 is"),
    "latency_max_ms": Phrase("greatest latency", "latency", "the greatest latency is"),
    "database_bytes": Phrase("database size", "space", "the database is", *_SIZE, brief="space"),
    "table_bytes": Phrase("table size", "space", "the tables are", *_SIZE),
    "index_bytes": Phrase("index size", "space", "the indexes are", *_SIZE),
    "physical_bytes": Phrase(
        "space on flash", "space", "the flash holds", "more live bytes", "fewer live bytes", "as many live bytes"
    ),
    "wal_bytes_per_transaction": Phrase(
        "WAL", "WAL", "each {work} writes", "more WAL", "less WAL", "as much WAL"
    ),
    "server_cpu_us_per_transaction": Phrase(
        "server CPU", "CPU", "each {work} takes", "more server CPU", "less server CPU", "as much server CPU"
    ),
    "instructions_per_transaction": Phrase(
        "instructions", "instructions", "each {work} executes", "more instructions", "fewer instructions",
        "as many instructions",
    ),
    "disk_written_bytes_per_transaction": Phrase(
        "bytes written to the device", "bytes written", "each {work} writes", "more to the device",
        "less to the device", "as much to the device",
    ),
    "nand_bytes_per_transaction": Phrase(
        "bytes that the flash programs", "wear of the flash", "for each {work} the flash programs", "more bytes",
        "fewer bytes", "as many bytes",
    ),
    "write_amplification": Phrase("write amplification", "wear of the flash", "write amplification is"),
    "idx1_trimmed_ms": Phrase("index probes before the scan", "probes", "index probes before the scan take", *_TIME),
    "idx2_trimmed_ms": Phrase("index probes after the scan", "probes", "index probes after the scan take", *_TIME),
    "idx2_slowdown": Phrase("what a scan does to index probes", "probes", "the slowdown of probes by the scan is"),
    "probes_ms": Phrase("index probes", "probes", "index probes on average take", *_TIME),
    "seq_ms": Phrase("sequential scan", "scans", "the sequential scan takes", *_TIME),
    "vacuum_ms": Phrase("time of VACUUM", "VACUUM", "VACUUM takes", *_TIME),
    "full_page_images_per_transaction": Phrase(
        "full-page images", "WAL", "each {work} writes", "more full-page images", "fewer full-page images",
        "as many full-page images",
    ),
    "hot_share": Phrase(
        "share of HOT updates", "HOT updates", "the share of HOT updates is", unit="points"
    ),
}  # fmt: skip


PAID = (
    "wal_bytes_per_transaction", "nand_bytes_per_transaction", "server_cpu_us_per_transaction",
    "disk_written_bytes_per_transaction",
)  # fmt: skip
"""Costs that a DBA pays for; the first that moved is in a headline along with the secondary responses."""
PAID_FIRST = (
    *PAID, "hot_share", "full_page_images_per_transaction", "disk_read_bytes_per_transaction",
    "disk_flushes_per_transaction", "buffer_hit_share",
)  # fmt: skip
"""Costs that come before all others where reasons are listed."""
BY_REGIME = ("wal_bytes_per_transaction", "full_page_images_per_transaction")
"""What depends most on how often checkpoints come and on the age of the data: a number is true for these alone."""
SAME: Mapping[str, Sequence[str]] = {
    "database_bytes": ("table_bytes", "index_bytes"),
    "physical_bytes": ("database_bytes", "table_bytes", "index_bytes"),
    "latency_p99_ms": ("latency_ms", "latency_p50_ms", "latency_p95_ms"),
}
"""A response and those that say the same again: one of them is enough for a headline."""


def phrase_of(response: Response) -> Phrase:
    """What a response is called in sentences."""
    found = _PHRASES.get(response.name)
    if found is not None:
        return found
    title = response.title.replace("{", "(").replace("}", ")")
    unit = {"share": "points", "count": "", "1": "", "ratio": "", "us": "µs"}.get(response.unit, response.unit)
    return Phrase(title, title, f"{title}:", unit=unit)


CHANGES_MAX = 3
"""As many changes are named of a treatment, its primary response's among them."""
EACH_MAX = 2
"""Up to so many comparisons stand one by one; of more the best, the worst and how many of each kind."""
_REASON_MAX = 120
_TELLING = (Kind.BETTER, Kind.WORSE, Kind.DIFFERENT)
"""Verdicts that name a change of the primary response."""


@dataclass(frozen=True)
class Change:
    """A response other than the primary that surely moved, by more than was asked for."""

    response: Response
    effect: Effect

    @property
    def adverse(self) -> bool:
        """Is it for the worse?"""
        more = self.effect.estimate > self.effect.none
        return self.response.better is not Better.NEITHER and more != (self.response.better is Better.HIGHER)


@dataclass(frozen=True)
class Standing:
    """What became of the user's thresholds with one treatment: `failed` and `unknown` are their texts."""

    treatment: str
    passed: int
    failed: Sequence[str] = ()
    unknown: Sequence[str] = ()

    @property
    def passes(self) -> bool:
        return not (self.failed or self.unknown)


@dataclass(frozen=True)
class Disturbed:
    """How many of all trials were discarded because of other programs."""

    discarded: int
    trials: int


@dataclass(frozen=True)
class Case:
    """What a headline is made of.

    `changes` are other responses that moved, in the order of the sentence, `unresolved` those of which nothing
    is known yet, with the places. `disturbed` says how many trials were discarded where those were many. `label`
    says on what the numbers were made where that was no ordinary server ("emulated drives"), `unsafe` names treatments
    that are not crash-safe, `otherwise` those that answer statements otherwise than the baseline, and `objections` are
    lint's against runs that others made. `recommended` is what a section recommends by rules of its own. `varied` are
    conditions and covariates.
    """

    primary: Response
    baseline: str
    verdicts: Sequence["Judged"]
    changes: Sequence[Change] = ()
    unresolved: Sequence[tuple[Response, Collection[Place]]] = ()
    disturbed: Disturbed | None = None
    standings: Sequence[Standing] = ()
    recommended: str = ""
    label: str = ""
    unsafe: Sequence[str] = ()
    traded: Mapping[str, str] = field(default_factory=dict)
    """Of treatments that are less durable than the baseline what may be lost."""
    otherwise: Sequence[str] = ()
    objections: Sequence[str] = ()
    imported: bool = False
    finished: bool = True
    extensible: bool = True
    """May `pgassay resume RUN --more` take a finished run as far as a verdict?"""
    interrupted: bool = False
    work: str = "transaction"
    fresh: bool = False
    """Were the data as they were loaded, and not aged by updates?"""
    full_speed: bool = False
    """Was the load played as fast as it went, and did a treatment change how fast? Then more or fewer transactions
    shared what a checkpoint costs."""
    checkpoint_s: float | None = None
    """Seconds from one checkpoint to the next, where that is known."""
    varied: Sequence[str] = ()


@dataclass(frozen=True)
class Headline:
    """One to three sentences without full stops.

    `badges` say what was found in a line each; then `rest` are the sentences that these do not say.
    """

    sentences: Sequence[str]
    badges: Sequence[Badge] = ()
    rest: Sequence[str] = ()


def not_judged(judged: "Judged") -> bool:
    return judged.verdict.kind is Kind.UNRESOLVED and judged.effect.blocks < FIRST_LOOK


def place_of(effect: Effect) -> str:
    at = effect.place.cell.name
    return f"{effect.treatment} at {at}" if at else effect.treatment


def shortened(reason: str) -> str:
    return reason if len(reason) <= _REASON_MAX else f"{reason[:_REASON_MAX].rsplit(' ', 1)[0]} …"


def size_of(judged: "Judged") -> float:
    effect = judged.effect
    if effect.scale is Scale.DIFFERENCE or effect.estimate <= 0.0:
        return abs(effect.estimate)
    return max(effect.estimate, 1.0 / effect.estimate)


def moved_of(case: Case, treatment: str) -> Sequence[tuple[Response, Sequence[Effect]]]:
    """Responses that moved the same way at every place of the treatment; what is for the worse is never left out."""
    places = {each.effect.place for each in case.verdicts if each.effect.treatment == treatment}
    found: dict[str, list[Change]] = {}
    for change in case.changes:
        if change.effect.place in places:
            found.setdefault(change.response.name, []).append(change)
    whole = [
        each
        for each in found.values()
        if len(each) == len(places) and len({change.effect.estimate > change.effect.none for change in each}) == 1
    ]
    decided = any(each.effect.treatment == treatment and each.verdict.kind in _TELLING for each in case.verdicts)
    ranked = sorted(whole, key=lambda each: (not each[0].adverse, each[0].response.cost))[: CHANGES_MAX - decided]
    return [(each[0].response, [change.effect for change in each]) for each in whole if each in ranked]


def joined(parts: Sequence[str], last: str = "and") -> str:
    """`a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {last} {parts[-1]}"


def listed(names: Sequence[str], last: str = "and") -> str:
    """`table.fillfactor=90 and 75`: treatments, with what they share written once."""
    return joined([names[0], *(short(each, after=names[0]) for each in names[1:])], last)


def short(name: str, *, after: str) -> str:
    """What distinguishes a treatment from one that was named before: `75` after `table.fillfactor=90`.

    Of several factors those that differ, with their names; the whole name where the two have other factors.
    """
    mine, theirs = (each.split(", ") for each in (name, after))
    factors, other_factors = ([part.partition("=")[0] for part in parts] for parts in (mine, theirs))
    if not all("=" in part for part in (*mine, *theirs)) or factors != other_factors:
        return name
    if len(mine) == 1:
        return name.partition("=")[2]
    return ", ".join(part for part, other in zip(mine, theirs, strict=True) if part != other) or name


LISTED_MAX = 3
"""As many treatments are named of each kind."""


def advice(case: Case, subjects: Sequence[str]) -> str:
    """What to do. It follows the verdicts and never goes beyond them; the first rule that has something to say counts.

    What is not crash-safe, or answers otherwise than the baseline, is never recommended, and what is better at some
    levels only is recommended only there.
    """
    if case.standings:
        passing = [each.treatment for each in case.standings if each.passes]
        return by_thresholds(case.standings) + _traded(case, passing)
    if case.objections:
        return "repeat the comparison in randomised blocks (pgassay run, pgassay compare)"
    return _early_advice(case) or case.recommended or _take(case) or _open(case, subjects) or _settled(case)


def by_thresholds(standings: Sequence[Standing]) -> str:
    """Which treatments pass the user's thresholds, and which of them the others fail."""
    total = max(each.passed + len(each.failed) + len(each.unknown) for each in standings)
    passing = [each.treatment for each in standings if each.passes]
    failing = [each for each in standings if each.failed]
    still = [each for each in standings if each.unknown and not each.failed]
    parts = []
    if 0 < len(passing) <= LISTED_MAX:
        parts.append(f"{listed(passing)} {'passes' if len(passing) == 1 else 'pass'}")
    elif passing:
        parts.append(f"{len(passing)} pass")
    parts += [f"{each.treatment} fails ({', '.join(each.failed)})" for each in failing[:LISTED_MAX]]
    parts += [f"{each.treatment} is not known ({', '.join(each.unknown)})" for each in still[:LISTED_MAX]]
    rest = sum(max(0, len(each) - LISTED_MAX) for each in (failing, still))
    parts += [f"{rest} others do not pass"] if rest else []
    which = "threshold" if total == 1 else f"{total} thresholds"
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
        return [each.treatment for each in case.standings if each.treatment in allowed and each.passes]
    better = [name for name, found in kinds.items() if Kind.BETTER in found]
    if better:
        mine = [name for name in better if name in allowed]
        safe = [name for name in mine if kinds[name] <= {Kind.BETTER, Kind.EQUIVALENT}]
        return safe or ([name for name in mine if Kind.WORSE in kinds[name]] or mine)[:1]
    judged = {each.effect.treatment for each in case.verdicts if not not_judged(each)}
    return [
        name
        for name, found in kinds.items()
        if name in allowed & judged and not found & {Kind.WORSE, Kind.FAILED} and _reasons(case, [name], adverse=False)
    ]


def _kinds(case: Case) -> dict[str, set[Kind]]:
    kinds: dict[str, set[Kind]] = {}
    for each in case.verdicts:
        kinds.setdefault(each.effect.treatment, set()).add(each.verdict.kind)
    return kinds


def _reasons(case: Case, treatments: Sequence[str], *, adverse: bool) -> Sequence[str]:
    moved = [each for name in treatments for each in moved_of(case, name) if each[0].better is not Better.NEITHER]
    return list(dict.fromkeys(phrase_of(r).reason for r, effects in moved if Change(r, effects[0]).adverse is adverse))


def _by_other_responses(case: Case) -> str:
    """What speaks for a treatment that is not better, and against it; empty where nothing speaks for one."""
    names = choices(case)
    if not names:
        return ""
    gains, prices = (_reasons(case, names, adverse=adverse) for adverse in (False, True))
    if {*gains} & {*prices}:
        return f"decide by {joined(list(dict.fromkeys((*gains, *prices))))}"
    which = listed(names, "or") if len(names) <= LISTED_MAX else f"one of {len(names)} others"
    count = f"{joined(gains)} {'counts' if len(gains) == 1 else 'count'}"
    if not prices:
        lost = _traded(case, names)
        return f"take {which} if {count}{lost or ': nothing was shown to speak against it'}"
    baseline = short(case.baseline, after=names[0])
    return f"take {which} only if {count} more than {joined(prices)}, else keep {baseline}{_traded(case, names)}"


def _take(case: Case) -> str:
    kinds = _kinds(case)
    better = [name for name, found in kinds.items() if Kind.BETTER in found]
    if not better:
        return ""
    taken = choices(case)
    if not taken:
        # By whole names: without its switch `drive.wal=csd` would be blamed.
        if unsafe := [name for name in better if name in case.unsafe]:
            verb = "is" if len(unsafe) == 1 else "are"
            return f"{_whole(unsafe)} {verb} not crash-safe: measured here, and never recommended"
        verb = "answers" if len(better) == 1 else "answer"
        return f"{_whole(better)} {verb} statements otherwise than the baseline: find out why before anything else"
    if not kinds[taken[0]] <= {Kind.BETTER, Kind.EQUIVALENT}:
        on = f" of {', '.join(case.varied)}" if case.varied else ""
        rest = "worse" if Kind.WORSE in kinds[taken[0]] else "not shown to be"
        only = f"take {taken[0]} only where it is better: at other levels{on} it is {rest}"
        return only + _traded(case, taken[:1])
    return _among(case, taken) + _traded(case, taken)


def _traded(case: Case, names: Sequence[str]) -> str:
    """What of the recommended may be lost: nobody is to trade durability unawares."""
    lost = {name: case.traded[name] for name in names if name in case.traded}
    alone = len(names) == 1
    return "".join(f"; {'it' if alone else name} trades durability: {what}" for name, what in lost.items())


def _whole(names: Sequence[str]) -> str:
    """Names with all of their levels; those of several factors have commas of their own."""
    return joined(names) if len(names) < 3 else f"{'; '.join(names[:-1])}; and {names[-1]}"


def _among(case: Case, safe: Sequence[str]) -> str:
    """Which of those that may be taken: the only one, or by what it costs; of several by their price, or the gain."""
    against = _reasons(case, safe, adverse=True)
    if len(safe) == 1:
        unless = f", unless {joined(against)} {'counts' if len(against) == 1 else 'count'} more" if against else ""
        return f"take {safe[0]}{unless}"
    if against:
        which = listed(safe, "or") if len(safe) <= LISTED_MAX else f"one of the {len(safe)} better"
        return f"take {which}, by how much {joined(against)} {'counts' if len(against) == 1 else 'count'}"
    mine = (each for each in case.verdicts if each.verdict.kind is Kind.BETTER and each.effect.treatment in safe)
    most = max(mine, key=size_of).effect.treatment
    rest = len(safe) - 1
    others = f"{rest} more {'is' if rest == 1 else 'are'} better, too"
    return f"take {most}, which gained most; {others}, and they were not compared with each other"


def _early_advice(case: Case) -> str:
    """Before five blocks only more of them help."""
    early = [each for each in case.verdicts if not_judged(each)]
    if not early or len(early) < sum(each.verdict.kind is not Kind.NOT_COMPARED for each in case.verdicts):
        return ""
    if case.imported:
        return "these runs are too few to decide anything"
    needed = max((each.verdict for each in early), key=lambda each: each.more_blocks or 0)
    blocks = needed.more_blocks or 0
    more = f"at least {blocks} more {plural('block', blocks)}{_time(needed.more_s)}"
    if case.disturbed is not None and 2 * case.disturbed.discarded >= case.disturbed.trials:
        return f"run it again while the machine is quiet: it takes {more}"
    if case.finished:
        return f"{going_on(case.extensible)}: it takes {more}"
    return f"{'pgassay resume goes on with it' if case.interrupted else 'the run has not ended'}: it takes {more}"


def going_on(extensible: bool) -> str:
    """How a finished run gets the blocks that a verdict takes."""
    return "pgassay resume RUN --more TIME goes on with it" if extensible else "run it again with larger --blocks"


def _time(seconds: float | None) -> str:
    return "" if seconds is None else f" ({duration(seconds)})"


def _open(case: Case, subjects: Sequence[str]) -> str:
    """While the primary is unresolved: the other responses, and what an answer would take."""
    still = [each for each in case.verdicts if each.verdict.kind is Kind.UNRESOLVED]
    if not still:
        return ""
    worse = [each.effect.treatment for each in case.verdicts if each.verdict.kind is Kind.WORSE]
    against = _reasons(case, subjects, adverse=True)
    known = [each for each in still if each.verdict.more_blocks is not None]
    more = ""
    if known and not case.imported:
        nearest = min(known, key=lambda each: each.verdict.more_blocks or 0)
        blocks = nearest.verdict.more_blocks or 0
        about = f"about {blocks} more {plural('block', blocks)}{_time(nearest.verdict.more_s)}"
        first = "" if len(case.verdicts) == 1 else f" with {place_of(nearest.effect)}"
        more = f"{about} may settle {phrase_of(case.primary).name}{first}"
    if worse:
        keep = f"keep {case.baseline} rather than {listed(list(dict.fromkeys(worse))[:EACH_MAX], 'or')}"
        return f"{keep}; {more}" if more else keep
    if found := _by_other_responses(case) or (f"keep {case.baseline} for now" if against else ""):
        return f"{found}; {more}" if more else found
    if more:
        return more
    if case.imported:
        return "these runs do not decide it"
    return "more blocks than can be run would be needed: decide by other reasons, or ask for a coarser resolution"


def _settled(case: Case) -> str:
    kinds = {each.verdict.kind for each in case.verdicts}
    if Kind.DIFFERENT in kinds:
        return "neither direction is better by itself: decide by what you need"
    if kinds <= {Kind.FAILED, Kind.WORSE}:
        return f"keep {case.baseline}"
    if found := _by_other_responses(case):
        return found
    if kinds <= {Kind.NOT_COMPARED}:
        return "see the costs and the space, which can be compared"
    return f"keep {case.baseline}: no gain was shown"


SENTENCES_MAX = 3
BADGES_MAX = 6
"""More comparisons get a sentence for each group, and no badges."""
_WHOLE_FROM = 10.0
"""Per cent from which a badge has no decimals."""
_TIMES_FROM = 2.0
"""A ratio from which it is written as times, since +845 % is hard to read."""
_OFTEN_S = 60.0
"""A server in use has a checkpoint every few minutes; more often than this is named."""


def headline(case: Case) -> Headline:
    """The headline of a study that compares treatments; raises ValueError where there is no comparison."""
    if not case.verdicts:
        raise ValueError("nothing was compared")
    names = list(dict.fromkeys(each.effect.treatment for each in case.verdicts))
    subjects: Sequence[str] = names  # whose costs are named: the only ones, or the best of many
    if case.objections or all(map(not_judged, case.verdicts)):
        subjects = ()
    elif len(names) > EACH_MAX:
        better = [each for each in case.verdicts if each.verdict.kind is Kind.BETTER]
        subjects = [max(better, key=size_of).effect.treatment] if better else ()
    parts = (finding(case), _costs(case, subjects), what := advice(case, subjects))
    found = badges(case)
    said: list[str] = []
    sure = _sure(case.verdicts[0].effect)  # which is in the first sentence that has it
    for each in [part for part in parts if part][:SENTENCES_MAX]:
        before, first, behind = each.partition(sure)
        again = any(sure in one for one in said)
        said.append(before + ("" if again else first) + behind.replace(sure, ""))
    return Headline(said, found, [what] if found and what else ())


def badges(case: Case) -> Sequence[Badge]:
    """A line for each comparison, as `75: same speed (±10 %), -48 % WAL, +26 % space`; none where they are many."""
    if case.objections or len(case.verdicts) > BADGES_MAX:
        return ()
    found = []
    for each in case.verdicts:
        at, name = each.effect.place.cell.name, short(each.effect.treatment, after=case.baseline)
        found.append(Badge(f"{name} at {at}" if at else name, each.verdict.kind, found_of(case, each)))
    return found


def found_of(case: Case, judged: "Judged") -> Sequence[str]:
    """What was found of one comparison: its verdict, what else moved, and what is not known yet."""
    name, kind, place = phrase_of(case.primary).badge, judged.verdict.kind, judged.effect.place
    if kind in (Kind.FAILED, Kind.NOT_COMPARED):
        found = [kind.value]
    elif not_judged(judged):
        found = ["no verdict yet"]
    elif kind is Kind.UNRESOLVED:
        found = [f"{name} not settled"]
    elif kind is Kind.EQUIVALENT:
        found = [f"same {name} ({_within(judged).removeprefix('within ')})"]
    else:
        found = [_changed(case, case.primary, judged.effect)]
    if kind is not Kind.FAILED:
        moved = (each for each in case.changes if each.effect.place == place)
        found += [_changed(case, each.response, each.effect) for each in moved]
        still = (response for response, places in case.unresolved if place in places)
        found += [f"{phrase_of(response).badge} not settled" for response in still]
    return found


def _changed(case: Case, response: Response, effect: Effect) -> str:
    """`-48 % WAL (data as loaded, a checkpoint every 3 s)`: to a per cent from ten on, since the rows have the rest."""
    phrase, shown = phrase_of(response), _shown(effect.estimate, effect.scale, response)
    unit = "%" if effect.scale is Scale.RATIO else phrase.unit
    if _in_times(effect):
        amount, unit = f"×{rounded(effect.estimate)}", ""
    elif unit in ("%", "points") and abs(shown) >= _WHOLE_FROM:
        amount = f"{shown:+.0f}"
    else:
        amount = _signed(effect.estimate, effect.scale, response, (effect.low, effect.high))
    regime = _regime(case, response).values()
    return " ".join(filter(None, (amount, unit, phrase.badge, f"({', '.join(regime)})" if regime else "")))


def finding(case: Case) -> str:
    """What was found of the primary response, in a sentence."""
    head = f"{case.label}: " if case.label else ""
    if case.objections:
        return f"{head}no verdict: lint objects to these runs ({shortened('; '.join(case.objections))})"
    refused = [each.effect.refused for each in case.verdicts if each.verdict.kind is Kind.NOT_COMPARED]
    compared = [each for each in case.verdicts if each.verdict.kind is not Kind.NOT_COMPARED]
    if compared and all(map(not_judged, compared)):
        counted = f"{len(refused)} {plural('comparison', len(refused))} refused" if refused else ""
        return head + _not_yet(case, compared) + (f"; {counted} ({shortened(refused[0])})" if refused else "")
    return head + (_one_by_one(case) if len(case.verdicts) <= EACH_MAX else _in_groups(case))


def _not_yet(case: Case, compared: Sequence["Judged"]) -> str:
    most = max(each.effect.blocks for each in compared)
    have = f"{most} {'counts' if most == 1 else 'count'} so far"
    said = f"no verdict yet on {phrase_of(case.primary).name}: it takes {FIRST_LOOK} blocks, and {have}"
    seen = [each.effect for each in compared if each.effect.contrasts and not each.effect.bounded]
    provisional = []
    for effect in sorted(seen, key=lambda each: abs(_shown(each.estimate, each.scale, case.primary)))[-EACH_MAX:]:
        # What blocks show that are too few for a verdict: their mean, and the least and the greatest of them.
        amount = _phrased(case, case.primary, [effect], [_value(case.primary, effect)])
        values = [value for _, value in effect.contrasts]
        span = f" (blocks {_span(min(values), max(values), effect.scale, case.primary)})" if len(values) > 1 else ""
        provisional.append(f"with {place_of(effect)} {amount}{span}")
    if provisional:
        said += f"; {PROVISIONAL}: {'; '.join(provisional)}"
    if case.disturbed is None:
        return said
    of_all = f"{case.disturbed.discarded} of {case.disturbed.trials} trials"
    return f"{said}; {of_all} were discarded because other programs disturbed them"


def _one_by_one(case: Case) -> str:
    still = [each for each in case.verdicts if each.verdict.kind is Kind.UNRESOLVED and not not_judged(each)]
    judged = [each for each in case.verdicts if each not in still]
    if _alike(judged):
        effects = [each.effect for each in judged]
        cell = effects[0].place.cell.name
        than = f"{short(case.baseline, after=effects[0].treatment)}{f' at {cell}' if cell else ''}"
        amounts = [f"{_value(case.primary, each)} ({_interval(each, case.primary)})" for each in effects]
        said = _phrased(case, case.primary, effects, amounts)
        parts = [
            f"{listed([each.treatment for each in effects])} are {judged[0].verdict.kind.value} than {than}: {said}"
        ]
    else:
        parts = [_said(case, each) for each in judged]
    if still:
        names = [place_of(each.effect) for each in still]
        open_ones = " or ".join(
            f"with {short(name, after=names[0]) if place else name} ({_interval(each.effect, case.primary)})"
            for place, (name, each) in enumerate(zip(names, still, strict=True))
        )
        parts.append(f"{phrase_of(case.primary).name} is not settled {open_ones}")
    return "; ".join(parts)


def _alike(judged: Sequence["Judged"]) -> bool:
    """Can these share one phrase: the same verdict in the same direction at one place, both in per cent?"""
    effects = [each.effect for each in judged]
    return (
        len(judged) > 1
        and len({each.verdict.kind for each in judged}) == 1
        and judged[0].verdict.kind in (Kind.BETTER, Kind.WORSE)
        and len({each.place.cell for each in effects}) == 1
        and _same_words(effects)
    )


def _same_words(effects: Sequence[Effect]) -> bool:
    """Do these changes go the same way, and all in per cent (or all as times, or all in a unit)?"""
    return len({each.estimate > each.none for each in effects}) == 1 and len(set(map(_in_times, effects))) == 1


def _said(case: Case, judged: "Judged") -> str:
    effect, kind, place = judged.effect, judged.verdict.kind, place_of(judged.effect)
    if kind is Kind.FAILED:
        return f"{place} failed ({shortened(judged.verdict.text.removeprefix('failed: '))})"
    if kind is Kind.NOT_COMPARED:
        return f"{place} was not compared with {case.baseline} ({shortened(effect.refused)})"
    if kind is Kind.UNRESOLVED:
        return _not_yet(case, [judged])
    baseline = short(case.baseline, after=effect.treatment)
    if kind is Kind.EQUIVALENT:
        return f"{place} is equivalent to {baseline} {_within(judged)}: {_amount(case, effect)}"
    if kind is Kind.DIFFERENT:
        return f"with {place} {_amount(case, effect)}"
    return f"{place} is {kind.value} than {baseline}: {_amount(case, effect)}"


def _within(judged: "Judged") -> str:
    """`within ±2 %`, of a verdict of equivalence."""
    return judged.verdict.text.removeprefix("equivalent ").partition(" (")[0]


_ORDER = (
    Kind.BETTER, Kind.DIFFERENT, Kind.WORSE, Kind.EQUIVALENT, Kind.UNRESOLVED, Kind.FAILED, Kind.NOT_COMPARED, None,
)  # fmt: skip
"""Groups as they are named; None are comparisons that are not judged yet."""


def _in_groups(case: Case) -> str:
    """Of many comparisons the best, the worst and how many of each kind."""
    groups: dict[Kind | None, list[Judged]] = {}
    for each in case.verdicts:
        groups.setdefault(None if not_judged(each) else each.verdict.kind, []).append(each)
    noun = "comparisons" if len({each.effect.place.cell for each in case.verdicts}) > 1 else "treatments"
    total, name = len(case.verdicts), phrase_of(case.primary).name
    if list(groups) == [Kind.UNRESOLVED]:
        return f"{name} is not settled in any of {total} {noun} ({_widest(case)})"
    if list(groups) == [Kind.EQUIVALENT]:
        return f"all {total} {noun} are equivalent to {case.baseline} {_within(case.verdicts[0])} in {name}"
    if list(groups) == [Kind.BETTER]:
        best = max(case.verdicts, key=size_of)
        most = f"most of all {place_of(best.effect)}: {_amount(case, best.effect)}"
        return f"all {total} {noun} are better than {case.baseline}, {most}"
    parts: list[str] = []
    for kind in _ORDER:
        if kind in groups:
            parts.append(_group(case, kind, groups[kind], first=not parts))
    if Kind.BETTER not in groups and Kind.DIFFERENT not in groups:
        parts.insert(0, f"nothing was shown to be better than {case.baseline}")
    return f"of {total} {noun} {'; '.join(parts)}" if Kind.BETTER in groups else "; ".join(parts)


def _group(case: Case, kind: Kind | None, members: Sequence["Judged"], *, first: bool) -> str:
    """How many are of a kind, with the largest of them; the `first` group names the baseline."""
    count, verb, one = len(members), "is" if len(members) == 1 else "are", members[0]
    if kind is None:
        return f"{count} {verb} not judged yet"
    if kind in (Kind.BETTER, Kind.WORSE, Kind.DIFFERENT):
        one = max(members, key=size_of)
        which = "namely" if count == 1 else "most of all"
        than = f" {'from' if kind is Kind.DIFFERENT else 'than'} {case.baseline}" if first else ""
        return f"{count} {verb} {kind.value}{than}, {which} {place_of(one.effect)}: {_amount(case, one.effect)}"
    if kind is Kind.FAILED:
        return f"{count} failed ({place_of(one.effect)}: {shortened(one.verdict.text.removeprefix('failed: '))})"
    if kind is Kind.NOT_COMPARED:
        return f"{count} {'was' if count == 1 else 'were'} not compared ({shortened(one.effect.refused)})"
    return f"{count} {verb} {kind.value}"


def _widest(case: Case) -> str:
    known = [each.effect for each in case.verdicts if each.effect.informative]
    if not known:
        return "every interval is too wide to say anything"
    low, high = min(known, key=lambda each: each.low), max(known, key=lambda each: each.high)
    span = _span(low.low, high.high, low.scale, case.primary)
    wide = len(case.verdicts) - len(known)
    return f"intervals from {span}{f'; {wide} too wide to say anything' if wide else ''}"


def _interval(effect: Effect, response: Response) -> str:
    """The interval in words; the first of a headline says how sure it is.

    Without signs where both ends go the estimate's way, which the sentence names: `29.2 to 30.3 %` of what is less.
    Of an estimate in times the ends are times too.
    """
    if not effect.informative:
        return "how much is not known"
    if _in_times(effect):
        return f"{_sure(effect)}{rounded(effect.low)} to {rounded(effect.high)} times"
    return f"{_sure(effect)}{_span(effect.low, effect.high, effect.scale, response)}"


def _sure(effect: Effect) -> str:
    return f"{effect.level * 100:.3g} % interval "


def _span(low: float, high: float, scale: Scale, response: Response) -> str:
    if scale is Scale.RATIO and high >= 1.0 + _TIMES_FROM:
        return f"×{rounded(low)} to ×{rounded(high)}"
    unit = "%" if scale is Scale.RATIO else phrase_of(response).unit
    shown = [_shown(value, scale, response) for value in (low, high)]
    first, last = (high, low) if max(shown) < 0.0 else (low, high)
    written = _size if min(shown) > 0.0 or max(shown) < 0.0 else _signed
    ends = (low, high)
    return f"{written(first, scale, response, ends)} to {written(last, scale, response, ends)} {unit}".strip()


def _signed(value: float, scale: Scale, response: Response, ends: tuple[float, float]) -> str:
    size = _size(value, scale, response, ends)
    shown = _shown(value, scale, response)
    return f"-{size}" if shown < 0.0 else f"+{size}" if shown > 0.0 else size


def _size(value: float, scale: Scale, response: Response, ends: tuple[float, float]) -> str:
    """Without its sign; per cents and points as the tables have them, so that no two differ on a page: to as many
    digits as the interval between `ends` allows."""
    size = abs(_shown(value, scale, response))
    if isfinite(size) and (scale is Scale.RATIO or response.unit == "share"):
        return tenths(size, decimals_of(*(_shown(end, scale, response) for end in ends))).removesuffix(".0")
    return rounded(size)


def _shown(value: float, scale: Scale, response: Response) -> float:
    """A ratio as a change in per cent, a difference of shares in points, any other as it is."""
    if scale is Scale.RATIO:
        return (value - 1.0) * 100.0
    return value * 100.0 if response.unit == "share" else value


def _amount(case: Case, effect: Effect) -> str:
    """Of the primary response: `throughput is 20.1 % higher (95 % interval 18.4 to 21.9 %)`."""
    said = _phrased(case, case.primary, [effect], [_value(case.primary, effect)])
    return f"{said} ({_interval(effect, case.primary)})"


def _phrased(case: Case, response: Response, effects: Sequence[Effect], amounts: Sequence[str]) -> str:
    """Changes of one direction in a phrase: `the database is 7.7 % and 24.5 % larger`."""
    phrase, first = phrase_of(response), effects[0]
    end = phrase.times if _in_times(first) else phrase.more if first.estimate > first.none else phrase.less
    amount = joined(list(dict.fromkeys(amounts)))
    if all(each.low == each.high == each.none for each in effects):  # counts may be the same in each block
        amount, end = "exactly", phrase.times
    said = f"{phrase.subject.format(work=case.work)} {amount} {end}".strip()
    regime = _regime(case, response)
    return f"{said} {', '.join(map(' '.join, regime.items()))}" if regime else said


def _regime(case: Case, response: Response) -> Mapping[str, str]:
    """`data as loaded`, `a checkpoint every 3 s`, by preposition; nothing where a server in use has the same."""
    if response.name not in BY_REGIME:
        return {}
    found = {"on": "data as loaded"} if case.fresh else {}
    if case.checkpoint_s is not None and case.checkpoint_s < _OFTEN_S:
        found["with"] = f"a checkpoint every {rounded(case.checkpoint_s)} s"
    return {**found, "at": "full speed"} if case.full_speed else found


def _in_times(effect: Effect) -> bool:
    return effect.scale is Scale.RATIO and effect.estimate >= _TIMES_FROM


def _value(response: Response, effect: Effect, most: Effect | None = None) -> str:
    """`20.1 %`, `2.25 times`; with the `most` of several conditions `20 to 30 %`."""
    values = [effect.estimate] if most is None else [effect.estimate, most.estimate]
    if _in_times(effect):
        return f"{' to '.join(map(rounded, values))} times"
    shown = " to ".join(_size(value, effect.scale, response, (effect.low, effect.high)) for value in values)
    return f"{shown} {'%' if effect.scale is Scale.RATIO else phrase_of(response).unit}".strip()


def _costs(case: Case, subjects: Sequence[str]) -> str:
    parts = []
    for names, moved in _together(case, subjects):
        phrases = [
            _phrased(case, response, [each[0] for each in every], _values(response, every)) for response, every in moved
        ]
        said = "; ".join(phrases) if any("," in each for each in phrases) else joined(phrases)
        alone = len({each.effect.treatment for each in case.verdicts}) == 1
        parts.append(said if alone else f"with {listed(names)} {said}")
    unresolved = (each for each, places in case.unresolved if any(place.treatment in subjects for place in places))
    still = [phrase_of(response).name for response in unresolved]
    if still:
        some = [*still[:CHANGES_MAX], *(["more"] if len(still) > CHANGES_MAX else [])]
        parts.append(f"{joined(some)} {'is' if len(still) == 1 else 'are'} unresolved")
    return "; ".join(parts)


_Moved: TypeAlias = list[tuple[Response, list[Sequence[Effect]]]]
"""Responses that moved, each with its effects of every treatment at all places."""


def _together(case: Case, subjects: Sequence[str]) -> list[tuple[Sequence[str], _Moved]]:
    """What moved with all subjects alike, and then what moved with one of them only (or otherwise)."""
    found = {name: {response.name: (response, effects) for response, effects in moved_of(case, name)
                    if response.name != COUNTED_RESPONSE} for name in subjects}  # fmt: skip
    shared: _Moved = []
    for name, (response, effects) in found[subjects[0]].items() if len(subjects) > 1 else ():
        every = [effects, *(mine[name][1] for other in subjects[1:] if name in (mine := found[other]))]
        if len(every) == len(subjects) and _same_words([each for effects in every for each in effects]):
            shared.append((response, every))
    names = {response.name for response, _ in shared}
    groups: list[tuple[Sequence[str], _Moved]] = [(subjects, shared)]
    for subject in subjects:
        alone = (each for name, each in found[subject].items() if name not in names)
        groups.append(([subject], [(response, [effects]) for response, effects in alone]))
    return [each for each in groups if each[1]]


def _values(response: Response, every: Sequence[Sequence[Effect]]) -> list[str]:
    """An amount for each treatment, from the least to the most of its places."""
    amounts = []
    for effects in every:
        rising = sorted(effects, key=lambda each: abs(_shown(each.estimate, each.scale, response)))
        least, most = rising[0], rising[-1]
        same = rounded(least.estimate) == rounded(most.estimate)
        amounts.append(_value(response, least, None if same else most))
    return amounts
