"""What the numbers of a trial are true for: how long it was, and how many checkpoint cycles its window covered.

A window between two checkpoints sees only the burst of full-page images after the first. So checkpoints are pinned: by
time (`cycle`), by WAL volume (`wal`, for short trials), or not to begin at all (`none`, labelled a burst); `default`
pins nothing. See the PostgreSQL manual, "WAL Configuration". Where a trial counts transactions, neither time nor WAL
would give every treatment the same checkpoints: then `cycle` means one whole cycle, from the CHECKPOINT before the work
to one that closes it.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from pgassay.analysis.steadiness import NS, trial_course
from pgassay.bench.counters import Sample
from pgassay.lab.arms import ResolvedArm
from pgassay.lab.notes import Notes, Window
from pgassay.lab.settings import describe_defaults, mode_of
from pgassay.probe.drives import amplification_by_half
from pgassay.study.work import BURST, CUT_OFF_MAX, CYCLES_WANTED, SOMEWHERE, WORDS, WORK

_COURSE_OF = "tps"
_ROUNDING = 1e-9
"""A second over the length of a slice may come out smaller by as much."""
WARM_UP_SUFFIX = "_warmup"
"""Marks the sources of samples that were taken while the load warmed up."""


def regime_of(arm: ResolvedArm, notes: Notes) -> dict[str, str | float | None]:
    """The regime as `trial.json` keeps it, whatever became of the trial; None for what it did not come to."""
    options, window = arm.setup.load, notes.window
    mode = mode_of(options) if arm.site.checkpoints else SOMEWHERE
    cycles = cycles_covered(notes.counters)
    cut_off = _cut_off(notes.samples, window) if window else None
    defaults = describe_defaults(arm.study)
    return {
        **({"defaults": defaults} if defaults else {}),
        "window_s": window.length_monotonic_ns / 1e9 if window else None,
        "warmup_s": float(options.warmup_s),
        "checkpoint": mode,
        "checkpoint_cycles": cycles,
        "checkpoint_cut_off": cut_off,
        "checkpoint_words": describe(mode, cycles, cut_off),
        "cache": notes.cache,
        "age": options.to_levels().get("age", "none"),
        "start_state": notes.how_cloned,
        **notes.pairing,
        **({"dilation": float(arm.setup.drive.dilation)} if arm.setup.drive.dilation > 1 else {}),
        **({"huge_pages": notes.huge_pages} if notes.huge_pages else {}),
        **{name: trait.found for name, trait in notes.traits.items()},
        **course_of(notes.samples, notes.pairing.get("slice_s")),
        **(
            amplification_by_half(notes.samples, window.started_monotonic_ns, window.length_monotonic_ns)
            if window
            else {}
        ),
    }


def _cut_off(samples: Sequence[Sample], window: Window) -> float | None:
    return unfinished(samples, window.started_monotonic_ns, window.length_monotonic_ns)


def cycles_covered(differences: Mapping[str, float | None]) -> float | None:
    """Checkpoints begun inside the window, which started right after one: each of them closes a whole cycle."""
    found = [differences[name] for name in _CHECKPOINT_METERS if differences.get(name) is not None]
    return sum(value for value in found if value is not None) if found else None


_SOURCE = "checkpoints"
_NAMES = ("checkpoints_timed", "checkpoints_requested")
_CHECKPOINT_METERS = tuple(f"{_SOURCE}.{name}" for name in _NAMES)


def unfinished(samples: Iterable[Sample], started_ns: int, window_ns: int) -> float | None:
    """The share of the window that lies after its last whole cycle, to a second; None without a whole one.

    A part of a cycle holds more of the burst than of the calm after it, so a large share makes a window less true.
    """
    ended_ns = started_ns + window_ns
    begun = [moment for moment in checkpoints_ns(samples, started_ns) if moment <= ended_ns]
    return (ended_ns - begun[-1]) / window_ns if begun and window_ns > 0 else None


def checkpoints_ns(samples: Iterable[Sample], started_ns: int) -> list[int]:
    """When checkpoints were first counted since `started_ns`, to a second: at their beginning, or at their end where
    the checkpointer was too late to say so before. Either way once in each cycle."""
    moments: dict[int, float] = {}
    for sample in samples:
        if sample.source == _SOURCE and sample.name in _NAMES and sample.value is not None:
            moments[sample.monotonic_ns] = moments.get(sample.monotonic_ns, 0.0) + sample.value
    return [
        later
        for (sooner, before), (later, after) in pairwise(sorted(moments.items()))
        if after > before and sooner >= started_ns - NS
    ]


def describe(mode: str, cycles: float | None, cut_off: float | None = None) -> str:
    """The regime in words, which say so if the window did not cover what was asked for.

    `cut_off` is the share of the window in a cycle that did not end in it.
    """
    if mode in (BURST, SOMEWHERE, WORK):
        return WORDS[mode]
    if cycles is None:
        return f"{WORDS.get(mode, mode)}; the number of cycles could not be read"
    if cycles < CYCLES_WANTED:
        covered = "no whole checkpoint cycle" if cycles < 1 else "only one whole checkpoint cycle"
        return f"{covered} in the window: mostly the burst after a checkpoint"
    rest = "" if cut_off is None or cut_off <= CUT_OFF_MAX else f"; {cut_off:.0%} of the window in a cycle cut off"
    return f"{cycles:.0f} {WORDS.get(mode, mode)}{rest}"


def course_of(samples: Sequence[Sample], slice_s: object = None) -> Mapping[str, str | float | None]:
    """How the window went second by second: `steadiness`, `truncation_s`, `tps_error` (1/s) and `cycle_s`.

    Where servers took turns of `slice_s` the seconds are those that the server played, its slices one after the other.

    The load's own transactions per second are judged, with the checkpoints that were counted meanwhile. It is kept
    with the regime, so that a report need not read series; a load without a series yields an empty mapping.
    """
    mine = [each for each in samples if each.name == _COURSE_OF and not each.source.endswith(WARM_UP_SUFFIX)]
    if not mine:
        return {}
    values = [each.value for each in mine]
    if isinstance(slice_s, float):
        played = _by_second(values, slice_s)
        found = trial_course([second * NS for second in range(len(played))], played)
    else:
        moments = [each.monotonic_ns for each in mine]
        found = trial_course(moments, values, checkpoints_ns(samples, moments[0] - NS))
    return {
        "steadiness": found.kind.value,
        "truncation_s": found.truncation_s,
        "tps_error": found.error,
        "cycle_s": found.cycle_s,
    }


def _by_second(values: Sequence[float | None], slice_s: float) -> list[float | None]:
    """Of each second that was played the mean of the slices in it, or the slice that it is a part of."""
    found: list[float | None] = []
    for second in range(int(len(values) * slice_s + _ROUNDING)):
        first, end = (int(moment / slice_s + _ROUNDING) for moment in (second, second + 1))
        known = [each for each in values[first : max(first + 1, end)] if each is not None]
        found.append(sum(known) / len(known) if known else None)
    return found
