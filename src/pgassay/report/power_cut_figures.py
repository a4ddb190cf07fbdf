"""Power cuts as figures: how the bound fell, writes between flush and cut, torn pages, and what recovery takes.

Requests and pages are drawn as the drive recorded them at the cut (`record.power_cuts`); green is sound, red is damage.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from pgassay.analysis.crash_risk import course_of
from pgassay.analysis.numbers import plural
from pgassay.record.power_cuts import SOUND, CutRecord
from pgassay.report.section import Block, Drawing, Figure, Folded

if TYPE_CHECKING:
    from pgassay.report.charts import LabelledRow
    from pgassay.report.power_cuts import ArmCuts

_BOUND, _RECOVERY = "How sure it became, cut by cut", "What recovery takes"
_SECTOR_BYTES = 512
_ROWS_MAX = 8
"""Cuts that are drawn request by request, and pages that are drawn sector by sector."""
_REQUESTS_MAX = 40
"""Requests of a cut that are drawn, the last ones."""
_MARK = 18
"""Pixels of a row's marks."""
_HEIGHT = 220
_BLOCK_KIB = 4
_OLD, _NEW, _SAME = "as before the write", "as written", "the same in both"
_ARRIVED, _PART, _LOST = "reached the medium", "in part", "lost"
_SOUND, _DAMAGE, _FLUSHED = "cut, sound after it", "cut, damage after it", "flush"


def figures(arms: "Sequence[ArmCuts]", called: Mapping[str, str]) -> Iterator[Block]:
    """Those that these cuts have data for, the evidence first; `called` are short names of the arms."""
    yield Figure("torn-page", lambda: _torn_pages(arms, called), key=1)
    yield Figure("cut-writes", lambda: _writes(arms, called), key=1)
    yield Folded(_BOUND, (Figure("cut-bound", lambda: _bound(arms)),))
    yield Folded(_RECOVERY, (Figure("cut-recovery", lambda: _recovery(arms)),))


def _bound(arms: "Sequence[ArmCuts]") -> Drawing | None:
    """The course of the bound, a line a treatment; None for at most one cut that counts, which has no course."""
    rows = [row for each in arms for row in course_rows(each)]
    if max((row["cuts"] for row in rows), default=0) < 2:
        return None
    import altair as alt

    from pgassay.report import charts
    from pgassay.report.colours import PALETTE

    names = tuple(each.name for each in arms)
    x = alt.X("cuts:Q", title="cuts", scale=alt.Scale(type="log", nice=False))
    y = alt.Y("bound:Q", title="% of cuts, at most", scale=alt.Scale(type="log", domainMax=100))
    base = charts.chart_of(rows).encode(x=x, y=y)
    tips = [charts.tip(f"{name}:N") for name in ("treatment", "cuts", "epochs", "damaging")]
    line = base.mark_line(interpolate="step-after").encode(color=charts.colour(names))
    damage = base.transform_filter("datum.damaged").mark_point(
        shape="cross", size=70, filled=True, color=PALETTE[1], opacity=1.0
    )
    shown = damage.encode(tooltip=[*tips, charts.tip("bound:Q", "at most, %")])
    return Drawing(
        _BOUND,
        "The share of cuts that may do damage, with 95 % certainty at every moment. Red crosses: cuts that did damage. "
        "A line without crosses falls as cuts after a whole checkpoint stay without damage; when to stop may be chosen "
        "while looking at it.",
        alt.layer(line, shown).properties(width=charts.WIDTH, height=_HEIGHT),
    )


def course_rows(each: "ArmCuts") -> Iterator[dict[str, Any]]:
    """The bound as cuts were made, thinned; `damaged` where one did damage since the point before."""
    before = 0
    for risk in course_of(each.counted):
        yield {
            "treatment": each.name,
            "cuts": risk.cuts,
            "epochs": risk.epochs,
            "damaging": risk.damaged_cuts,
            "bound": 100 * risk.upper,
            "damaged": risk.damaged_cuts > before,
        }
        before = risk.damaged_cuts


def _writes(arms: "Sequence[ArmCuts]", called: Mapping[str, str]) -> Drawing | str:
    """A row a cut: the requests since the flush, what arrived of each, and the cut."""
    chosen = [(each, place, cut) for each in arms for place, cut in drawn_cuts(each)][:_ROWS_MAX]
    if not chosen:
        return "at no cut were there writes that the drive had not made durable"
    import altair as alt

    from pgassay.report import charts
    from pgassay.report.colours import GREY, INK, PALETTE, PAPER

    rows, height = _rows_of(chosen, called, _summary, request_rows)
    oldest = min(row["first"] for row in rows if "first" in row)
    x = alt.X("first:Q", title="requests before the cut", axis=alt.Axis(format="d", tickMinStep=1, tickCount=8),
              scale=alt.Scale(nice=False, domain=[oldest - 1, 1]))  # fmt: skip
    boxes = charts.of_kind("request").mark_rect(stroke=PAPER, strokeWidth=0.5)
    signs = charts.of_kind("sign").mark_point(filled=True, size=110, opacity=1.0)
    arrived, outcomes = (_ARRIVED, _PART, _LOST), (_FLUSHED, _SOUND, _DAMAGE)
    layers = [
        *charts.row_texts(charts.of_kind("text"), height),
        boxes.encode(
            x=x,
            x2="last:Q",
            y=charts.down("top", height),
            y2="bottom:Q",
            color=_colours("arrived", arrived, (PALETTE[0], PALETTE[5], GREY)),
            tooltip=[charts.tip(f"{name}:N") for name in ("arrived", "KiB", "of KiB", "drive block")],
        ),
        signs.encode(
            x=x,
            y=charts.down("middle", height),
            color=_colours("sign", outcomes, (INK, PALETTE[2], PALETTE[1])),
            shape=alt.Shape(
                "sign:N",
                scale=alt.Scale(domain=list(outcomes), range=["triangle-right", "circle", "cross"]),
                legend=_legend(outcomes),
            ),
            tooltip=[charts.tip("sign:N", "what")],
        ),
    ]
    return Drawing(
        "Writes between the last flush and the cut",
        "Of each treatment the first cut that did damage, or else the one with the most writes. A box is a request, "
        "the newest at the right; where no flush is drawn, older requests are left out.",
        charts.layered(layers, rows, height).resolve_scale(color="independent", shape="independent"),
    )


def _rows_of(
    chosen: "Sequence[tuple[ArmCuts, int, CutRecord]]",
    called: Mapping[str, str],
    text_of: Callable[[CutRecord], str],
    parts_of: Callable[[CutRecord], Iterable[dict[str, Any]]],
) -> tuple[list[dict[str, Any]], float]:
    """The rows of a figure with a labelled line a cut: its text and its parts, where each is drawn; and its height."""
    from pgassay.report import charts

    texts = {f"cut {place}: {called[each.name]}": text_of(cut) for each, place, cut in chosen}
    places, height = charts.labelled_rows(texts, _MARK)
    rows: list[dict[str, Any]] = []
    for (label, text), (_, _, cut) in zip(texts.items(), chosen, strict=True):
        rows += ({**row, **_at(places[label])} for row in (_text(places[label], text), *parts_of(cut)))
    return rows, height


def drawn_cuts(each: "ArmCuts") -> Sequence[tuple[int, CutRecord]]:
    """The first cut that did damage, or else the one with the most requests, with its place from 1; none without."""
    with_writes = [(place, cut) for place, cut in enumerate(each.cuts, start=1) if cut.strip]
    damage = [found for found in with_writes if found[1].verdict != SOUND]
    return damage[:1] or sorted(with_writes, key=lambda found: -found[1].requests)[:1]


def _summary(cut: CutRecord) -> str:
    return f"{cut.requests:,} {plural('request', cut.requests)}, {cut.lost_pieces:,} of {cut.pieces:,} pieces lost"


def request_rows(cut: CutRecord) -> Iterator[dict[str, Any]]:
    """A row for each request that was not durable, one for the flush before them if it is near, one for the cut."""
    strip = (cut.strip or [])[-_REQUESTS_MAX:]
    for before, (block, blocks, whole) in zip(range(-len(strip), 0), strip, strict=True):
        arrived = _ARRIVED if whole == blocks else _LOST if not whole else _PART
        yield {"kind": "request", "first": before, "last": before + 1, "arrived": arrived, "KiB": whole * _BLOCK_KIB,
               "of KiB": blocks * _BLOCK_KIB, "drive block": block}  # fmt: skip
    if len(strip) == cut.requests:
        yield {"kind": "sign", "first": -len(strip), "sign": _FLUSHED}
    yield {"kind": "sign", "first": 0, "sign": _SOUND if cut.verdict == SOUND else _DAMAGE}


def _torn_pages(arms: "Sequence[ArmCuts]", called: Mapping[str, str]) -> Drawing | str:
    """Of each treatment the first torn page that did damage, or else one that did none, by ranges of bytes."""
    chosen = [(each, place, cut) for each in arms for place, cut in torn(each)][:_ROWS_MAX]
    if not chosen:
        return "no page was torn by any of the cuts"
    import altair as alt

    from pgassay.report import charts
    from pgassay.report.colours import GREY, PALETTE, PAPER

    rows, height = _rows_of(chosen, called, lsns, range_rows)
    end = max(row["last"] for row in rows if "last" in row)
    ticks = alt.Axis(values=[*range(0, end + 1, end // 4)], format="d", labelOverlap=False)
    x = alt.X("first:Q", title="byte within the page", axis=ticks, scale=alt.Scale(nice=False, domain=[0, end]))
    ranges = charts.of_kind("range").mark_rect(stroke=PAPER, strokeWidth=1)
    bars = ranges.encode(
        x=x,
        x2="last:Q",
        y=charts.down("top", height),
        y2="bottom:Q",
        color=_colours("holds", (_OLD, _NEW, _SAME), (PALETTE[1], PALETTE[0], GREY)),
        tooltip=[charts.tip(f"{name}:N") for name in ("bytes", "holds", "after the cut", "drive block")],
    )
    return Drawing(
        "Pages that were torn by the cut",
        "A row is one page as it lay on the drive: which bytes hold the old page, and which the new one; its first "
        "bytes have the LSN. With full-page images in the WAL recovery replaces all of it; without them nothing does.",
        charts.layered([*charts.row_texts(charts.of_kind("text"), height), bars], rows, height),
    )


def torn(each: "ArmCuts") -> Sequence[tuple[int, CutRecord]]:
    """The torn page to show: the first that did damage, or else the first; with its place from 1."""
    return sorted(torn_cuts(each), key=lambda found: found[1].verdict == SOUND)[:1]


def torn_cuts(each: "ArmCuts") -> Iterator[tuple[int, CutRecord]]:
    """Cuts that left a page of both the old and the new one, each with its place from 1."""
    return ((place, cut) for place, cut in enumerate(each.cuts, start=1) if cut.page and cut.page.get("torn"))


def lsns(cut: CutRecord) -> str:
    """Both LSNs of the page in flight, and whose page it is where that is known."""
    page = cut.page
    assert page is not None
    owner = page.get("relation") or page.get("file")
    whose = f"{owner}, block {page['relation_block']}: " if owner else ""
    return f"{whose}old LSN {lsn(page['old_lsn'])}, new {lsn(page['new_lsn'])}"


def lsn(value: int) -> str:
    """As PostgreSQL prints it."""
    return f"{value >> 32:X}/{value & 0xFFFFFFFF:X}"


def range_rows(cut: CutRecord) -> Iterator[dict[str, Any]]:
    """A row for each range of bytes that holds one thing: the old page, the new one, or what is in both."""
    page = cut.page
    assert page is not None

    def holds(sector: int) -> str:
        arrived, changed = (page[name][sector // 8] >> sector % 8 & 1 for name in ("sectors", "changed"))
        return _SAME if not changed else _NEW if arrived else _OLD

    outcome = "sound" if cut.verdict == SOUND else cut.detail or cut.verdict
    for held, sectors in groupby(range(page["bytes"] // _SECTOR_BYTES), holds):
        mine = [*sectors]
        first, last = mine[0] * _SECTOR_BYTES, (mine[-1] + 1) * _SECTOR_BYTES
        yield {"kind": "range", "first": first, "last": last, "bytes": f"{first} to {last - 1}", "holds": held,
               "after the cut": outcome, "drive block": page["block"]}  # fmt: skip


def _text(place: "LabelledRow", text: str) -> dict[str, Any]:
    return {"kind": "text", "_label": place.label, "_label_y": place.label_y, "text": text, "_text_y": place.text_y}


def _at(place: "LabelledRow") -> dict[str, float]:
    """Where the marks of a row lie."""
    return {"top": place.mark_y - _MARK / 2, "middle": place.mark_y, "bottom": place.mark_y + _MARK / 2}


def _colours(field: str, names: Sequence[str], colours: Sequence[str]) -> Any:
    import altair as alt

    scale = alt.Scale(domain=list(names), range=list(colours))
    return alt.Color(f"{field}:N", scale=scale, legend=_legend(names))


def _legend(names: Sequence[str]) -> Any:
    """Below the figure; the same for colours and shapes of the same names, which makes it one."""
    import altair as alt

    from pgassay.report.charts import columns_of

    return alt.Legend(title=None, orient="bottom", symbolOpacity=1.0, columns=columns_of(names))


def _recovery(arms: "Sequence[ArmCuts]") -> Drawing | None:
    """Recovery over the WAL that it replayed; None where no cut has both."""
    rows = [
        {"treatment": each.name, "MB": cut.redo_bytes / 2**20, "s": cut.recovery_ms / 1e3}
        for each in arms
        for cut in each.cuts
        if cut.redo_bytes is not None and cut.recovery_ms is not None
    ]
    if len({row["MB"] for row in rows}) < 2:
        return None
    import altair as alt

    from pgassay.report import charts

    names = tuple(each.name for each in arms)
    dots = charts.chart_of(rows).mark_point(filled=True, size=40, opacity=0.7)
    return Drawing(
        _RECOVERY,
        "A mark is a cut: seconds until connections were accepted, over the WAL from the last checkpoint to the cut. "
        "max_wal_size and checkpoint_timeout say how far that can be.",
        dots.encode(
            x=alt.X("MB:Q", title="WAL replayed, MB"),
            y=alt.Y("s:Q", title="recovery, s"),
            color=charts.colour(names),
            shape=charts.shape(names),
            tooltip=[charts.tip("treatment:N"), charts.tip("MB:Q"), charts.tip("s:Q")],
        ).properties(width=charts.WIDTH, height=_HEIGHT),
    )
