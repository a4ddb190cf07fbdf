"""The whole load of a capture: a script for each statement and each kind of transaction, by how often it ran; pure.

Where the log tells transactions, kind k with n_k of them in the log has the weight of its script

    n_k · min over its statements s of C_s ÷ max(N_s, L_s), rounded down

C_s are the calls of pg_stat_statements, L_s those of the log, N_s those within transactions of the log. A statement
alone gets the calls that are left, so the calls of each statement agree with the source's whatever the log holds.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from pgassay.capture.format import Capture, Load, Statement, Transaction
from pgassay.capture.scripts import CannotDrawError, pause_us, script, transaction_script

SCRIPTS_MAX = 120
"""pgbench takes 128 scripts at most."""
TRANSACTIONS_MAX = 40
"""Scripts of transactions; each kind may have two, for COMMIT and ROLLBACK."""
FAILS = "it fails here: "
"""How the reason begins of a statement that was tried."""
BRIEF = 60
"""As many characters of a statement name it."""
PLAYED_LEAST = 0.5
"""The least share of the source's time, or of its calls where no time is known, that a question is asked about."""
_MISSING = 3
"""As many statements that are not played are named where that is too little."""
_CONTROL = {
    "begin": "BEGIN",
    "start": "BEGIN",
    "commit": "END",
    "end": "END",
    "rollback": "ROLLBACK",
    "abort": "ROLLBACK",
}


@dataclass(frozen=True)
class CapturedScript:
    """A script, the statements that it plays once each in order, and how often it is drawn (0: tried, not played).

    A `transaction` has BEGIN and END; `pause_ms` are the pauses in it. The head of the text says how values are drawn.
    """

    statements: tuple[Statement, ...]
    name: str
    text: str
    weight: int
    transaction: bool = False
    pause_ms: float = 0.0

    @property
    def label(self) -> str:
        """What a report calls it: the statement, or all of them."""
        texts = [each.text for each in self.statements]
        if not self.transaction:
            return texts[0]
        return "; ".join(["BEGIN", *texts, "ROLLBACK" if self.name.endswith("r") else "END"])

    @property
    def mean_ms(self) -> float:
        """How long it took in the source, by the mean of each statement."""
        return sum(each.exec_ms / each.calls for each in self.statements) + self.pause_ms


@dataclass(frozen=True)
class UnplayedStatement:
    """A statement that is not played, why, and its share of the time of all statements; of the calls where no time is
    known."""

    statement: Statement
    reason: str
    time_share: float


_UPKEEP = ("vacuum", "analyze", "reindex", "cluster", "checkpoint")


@dataclass(frozen=True)
class ScriptedLoad:
    """The whole load: its scripts, what is missing from it, and why kinds of transactions are not played as such."""

    tried: tuple[CapturedScript, ...]
    unplayed: tuple[UnplayedStatement, ...]
    taken_apart: tuple[tuple[Transaction, str], ...] = ()
    timed: bool = True
    """Does the source tell how long its statements took?"""

    @property
    def played(self) -> tuple[CapturedScript, ...]:
        return tuple(each for each in self.tried if each.weight)

    @property
    def time_share(self) -> float:
        """The share of the source's time (of its calls where no time is known) in statements that are played."""
        return 1.0 - sum(each.time_share for each in self.unplayed)

    @property
    def application_share(self) -> float:
        """The same of the application alone, without what keeps a database in order (VACUUM, ANALYZE, …)."""
        upkeep = sum(each.time_share for each in self.unplayed if each.statement.text.lower().startswith(_UPKEEP))
        return self.time_share / (1.0 - upkeep) if upkeep < 1.0 else 0.0

    @property
    def too_little(self) -> str:
        """Where less is played than an answer needs: how much, and what takes most of the rest; else empty."""
        if self.played and self.application_share >= PLAYED_LEAST:
            return ""
        what = "time" if self.timed else "calls"
        missing = [
            f"{each.time_share:.1%}: {brief(each.statement)}: {each.reason}" for each in self.unplayed[:_MISSING]
        ]
        return (
            f"{self.application_share if self.played else 0:.1%} of the source's {what} can be played, so the answer"
            f" would be about another load; not played, {'; '.join(missing) or 'the capture has no statements'}"
        )

    @property
    def call_share(self) -> float:
        """The share of all calls that are played within transactions."""
        calls = [(each.weight * len(each.statements), each.transaction) for each in self.played]
        whole = sum(count for count, _ in calls)
        return sum(count for count, within in calls if within) / whole if whole else 0.0

    def without(self, failed: Mapping[str, str], load: Load) -> "ScriptedLoad":
        """The same without scripts that failed, by name with the reason: a transaction's calls go to its statements."""
        kept = [each for each in self.tried if each.name not in failed]
        scripts = _weighted(kept)
        lost = [
            UnplayedStatement(each.statements[0], f"{FAILS}{failed[each.name]}", share)
            for each in self.tried
            if each.name in failed and not each.transaction
            if (share := _share(load, each.statements[0], _left(each.statements[0], kept))) > 0
        ]
        unplayed = sorted((*self.unplayed, *lost), key=lambda each: -each.time_share)
        return replace(self, tried=scripts, unplayed=tuple(unplayed))


def brief(statement: Statement) -> str:
    """The beginning of its text; its identifier where the text is not known."""
    return " ".join(statement.text.split())[:BRIEF] or f"statement {statement.query_id}"


def scripted(capture: Capture, seed: int = 0) -> ScriptedLoad:
    """The load of a capture; raises `PgassayError` where the parser is not installed."""
    load = capture.load
    if load is None:
        return ScriptedLoad((), ())
    within, apart = _transactions(capture, load, seed)
    singles: list[CapturedScript] = []
    reasons: dict[int, str] = {}
    for statement in load.statements:
        if control_of(statement.text):
            continue  # a transaction's script has its own, and a statement alone is committed, too
        try:
            text = script(capture, statement, Random(f"{seed} {statement.query_id}"))
        except CannotDrawError as error:
            reasons[statement.query_id] = str(error)
            continue
        if len(singles) + len(within) < SCRIPTS_MAX:
            singles.append(CapturedScript((statement,), f"{len(singles) + 1:03d}", text, statement.calls))
        else:
            reasons[statement.query_id] = f"{SCRIPTS_MAX} others take more time, and pgbench takes no more scripts"
    unplayed = tuple(
        UnplayedStatement(each, reasons[each.query_id], _share(load, each, _left(each, within)))
        for each in load.statements
        if each.query_id in reasons
    )
    return ScriptedLoad(_weighted((*singles, *within)), unplayed, apart, timed=load.exec_ms > 0)


def _share(load: Load, statement: Statement, calls: int) -> float:
    """What so many calls of a statement are of all time; of all calls where the source does not tell the time."""
    if load.exec_ms > 0:
        return calls * statement.exec_ms / statement.calls / load.exec_ms
    return calls / (sum(each.calls for each in load.statements) or 1)


def control_of(text: str) -> str:
    """`BEGIN`, `END` or `ROLLBACK` for a statement that begins or ends a transaction; empty for any other."""
    words = text.lower().rstrip("; ").split()
    whole = len(words) == 1 or (len(words) > 1 and words[1] in ("transaction", "work", "isolation", "read", "and"))
    return _CONTROL.get(words[0], "") if words and whole else ""


def kind_weights(load: Load, kinds: Sequence[Transaction]) -> list[tuple[int, int]]:
    """How often each kind is drawn with COMMIT and with ROLLBACK; see the head of this module."""
    calls = {each.query_id: each for each in load.statements}
    within: Counter[int] = Counter()
    for kind in kinds:
        for query_id in kind.statements:
            within[query_id] += kind.commits + kind.rollbacks
    found = []
    for kind in kinds:
        ratios = [(calls[s].calls, max(within[s], calls[s].logged_calls)) for s in kind.statements]
        found.append(
            (
                min(kind.commits * counted // logged for counted, logged in ratios),
                min(kind.rollbacks * counted // logged for counted, logged in ratios),
            )
        )
    return found


def _transactions(
    capture: Capture, load: Load, seed: int
) -> tuple[list[CapturedScript], tuple[tuple[Transaction, str], ...]]:
    known = {each.query_id: each for each in load.statements}
    logged = load.logged.transactions if load.logged is not None else ()
    kinds = [each for each in logged if each.statements and all(s in known for s in each.statements)]
    weights = dict(zip(range(len(kinds)), kind_weights(load, kinds), strict=True))
    scripts: list[CapturedScript] = []
    apart: list[tuple[Transaction, str]] = []
    for n in sorted(weights, key=lambda n: -sum(weights[n]) * len(kinds[n].statements)):
        kind = kinds[n]
        made = [(weight, rolls_back) for weight, rolls_back in zip(weights[n], (False, True), strict=True) if weight]
        try:
            if not made:
                raise CannotDrawError("it is too rare")
            if len(scripts) + len(made) > TRANSACTIONS_MAX:
                raise CannotDrawError(f"{TRANSACTIONS_MAX} scripts of others make more calls")
            for weight, rolls_back in made:
                text = transaction_script(capture, kind, known, Random(f"{seed} {n}"), rolls_back=rolls_back)
                name = f"t{n + 1:03d}{'r' if rolls_back else ''}"
                pause_ms = pause_us(kind) * (len(kind.statements) + 1) / 1e3
                statements = tuple(known[s] for s in kind.statements)
                scripts.append(CapturedScript(statements, name, text, weight, transaction=True, pause_ms=pause_ms))
        except CannotDrawError as error:
            apart.append((kind, str(error)))
    return scripts, tuple(apart)


def _left(statement: Statement, scripts: Iterable[CapturedScript]) -> int:
    """Its calls that no transaction plays."""
    within = (each.weight * each.statements.count(statement) for each in scripts if each.transaction)
    return max(0, statement.calls - sum(within))


def _weighted(scripts: Sequence[CapturedScript]) -> tuple[CapturedScript, ...]:
    """Statements alone with the calls that are left to them."""
    return tuple(
        each if each.transaction else replace(each, weight=_left(each.statements[0], scripts)) for each in scripts
    )
