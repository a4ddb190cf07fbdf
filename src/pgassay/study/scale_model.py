"""A scale model: a study all of whose sizes are shrunk by one factor, so that a small machine can run it.

What is a size says each factor's own description (`ModelSize`): rows or warehouses, caches, memory, WAL, drives. All
else stays: row width, page, FILLFACTOR, times, over-provisioning. Where the study says how many cores its authors had,
clients shrink with the cores, so that a core has as many as theirs.

Pure: a document in, a document out. What a model keeps is measured by its dimensionless numbers, as in a wind tunnel
(Buckingham, Phys. Rev. 4, 1914); the lab computes them (`lab.scale_model`), and they stand in the record's `[model]`.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import ceil, inf
from typing import Any, Protocol

from pgassay.errors import UsageError
from pgassay.study.document import SCALE, Document, with_changed_levels
from pgassay.study.units import (
    BYTES_PER_UNIT,
    format_bytes,
    format_number,
    parse_memory,
    split_quantity,
    typed,
    unknown_key,
    whole_number,
    wrong_type,
)

REQUEST, RESULT = SCALE, "model"
"""The tables of a study file: what is asked for, and what a record has in its place."""
_REQUEST_KEYS = ("by", "to", "cores", "memory", "ours")
_ROUNDED = 0.01
"""A level that rounding moves by more says so."""


@dataclass(frozen=True)
class ModelSize:
    """How the levels of one factor shrink.

    A level is a number of things, of bytes with their unit, or (`2x`, `all`, `auto`) no size. `least` and `least_bytes`
    are the smallest that mean anything; `bare_bytes` is what a number without a unit counts in, where that is bytes.
    `data` is what the study's data are counted in; a model with less than one of them is none.
    """

    least: int = 1
    least_bytes: int = 1
    step_bytes: int = 1
    bare_bytes: int = 0
    data: str = ""

    def shrunk(self, text: str, by: float) -> "Shrunk | None":
        """The level 1:`by`; None for a text that is no size, which stays."""
        quantity = split_quantity(text)
        if quantity is None or quantity[0] <= 0:
            return None
        number, unit = quantity
        if unit in BYTES_PER_UNIT or (not unit and self.bare_bytes):
            unit_bytes = BYTES_PER_UNIT.get(unit, self.bare_bytes)
            exact = number * unit_bytes / by
            least = ceil(self.least_bytes / self.step_bytes) * self.step_bytes
            size = max(least, round(exact / self.step_bytes) * self.step_bytes)
            return Shrunk(format_bytes(size), exact, size, exact < least)
        if unit not in ("", "rows"):
            return None
        exact = number / by
        kept = max(self.least, round(exact))
        return Shrunk(f"{format_number(kept)}{unit}", exact, kept, exact < self.least and kept == self.least)


@dataclass(frozen=True)
class Shrunk:
    """A level of a model: as it is typed, what it should be, what it is, and whether it could not be smaller."""

    typed: str
    exact: float
    kept: float
    at_least: bool

    @property
    def note(self) -> str:
        """Why it is not to scale; empty where it is."""
        if self.at_least:
            return f"no less than {self.typed}"
        if abs(self.kept / self.exact - 1) > _ROUNDED:
            return f"rounded from {self.exact:.3g}"
        return ""


class SizedFactor(Protocol):
    """What a model asks of a factor."""

    @property
    def scales(self) -> bool:
        """Is it an amount of clients or threads?"""

    def size(self, name: str) -> ModelSize | None:
        """How a level shrinks; None for what is no size."""


class SizedFactors(Protocol):
    def find(self, name: str) -> SizedFactor | None:
        """The factor that covers this name, or None."""


@dataclass(frozen=True)
class Request:
    """The table `[scale]`: the model that is asked for, and what its original had that no level says.

    `by` (250 for 1:250) or `to_bytes` of the largest data; neither asks for a model. `memory_bytes` is what
    `host.memory = all` was; `ours` names what of this the authors do not give.
    """

    by: float | None = None
    to_bytes: int | None = None
    cores: int | None = None
    memory_bytes: int | None = None
    ours: tuple[str, ...] = ()


@dataclass(frozen=True)
class Resized:
    """A level of the original, of the model, and why it is not to scale (empty where it is)."""

    factor: str
    original: str
    model: str
    note: str = ""


@dataclass(frozen=True)
class Likeness:
    """A dimensionless number of the original and of the model, as (least, most) over the arms; None: not known."""

    name: str
    original: tuple[float, float] | None = None
    model: tuple[float, float] | None = None
    kept: bool | None = None
    note: str = ""


@dataclass(frozen=True)
class ScaleModel:
    """What a model is of its study: one to `by`."""

    by: float
    resized: tuple[Resized, ...] = ()
    likeness: tuple[Likeness, ...] = ()
    processes_beside: bool = False
    """Does what the server's processes take come on top of `host.memory`? Models of before 2026-11-26 had it inside."""

    @property
    def times(self) -> str:
        """How many times smaller it is, in four digits: `250`, `931.3`, `13500`."""
        return in_four_digits(self.by)

    @property
    def label(self) -> str:
        """How everything that comes of it is labelled: `scale model 1:250`."""
        return f"scale model 1:{self.times}"


def parse_scale(value: object) -> float:
    """`1/250`, `1:250` or 0.004 as 250; raises `UsageError` for what is no scale of a model."""
    text = typed(value).strip()
    above, sign, below = text.replace(":", "/").partition("/")
    try:
        scale = float(above) / float(below) if sign else float(above)
    except (ValueError, ZeroDivisionError):
        raise UsageError(f'"{text}" is not a scale', "for example 1/250, 1:250 or 0.004") from None
    if scale > 1:
        raise UsageError(f"a scale of {text} would enlarge the study", "a model is smaller: for example 1/250")
    if not 0 < scale < 1 or not 1 < rounded(by := 1 / scale) < inf:
        raise UsageError(
            f"a scale of {text} makes no model", "give a scale between 0 and 1, such as 1/250; 1 is the study itself"
        )
    return by


def rounded(by: float) -> float:
    """A scale's number as it is shown; what comes to 1 is no smaller than the study."""
    return float(in_four_digits(by))


def parse_request(table: object) -> Request:
    if not isinstance(table, Mapping):
        raise wrong_type("the study file", REQUEST, "a table", table)
    for key in table:
        if key not in _REQUEST_KEYS:
            raise unknown_key(f"[{REQUEST}]", key, _REQUEST_KEYS)
    if "by" in table and "to" in table:
        raise UsageError(
            '"by" and "to" in [scale] cannot be used together', 'by = "1/250", or to = "4GB" for the largest data'
        )
    by = parse_scale(table["by"]) if "by" in table else None
    ours = table.get("ours", [])
    cores = whole_number(f"[{REQUEST}]", "cores", table["cores"], 1) if table.get("cores") is not None else None
    if not isinstance(ours, list) or not all(each in table for each in ours):
        raise wrong_type(f"[{REQUEST}]", "ours", "a list of keys of this table", ours)
    sizes = {key: parse_memory(typed(table[key])) for key in ("to", "memory") if key in table}
    for key, count in sizes.items():
        if count <= 0:
            raise wrong_type(f"[{REQUEST}]", key, "a size above 0", table[key])
    return Request(
        by=by,
        to_bytes=sizes.get("to"),
        cores=cores,
        memory_bytes=sizes.get("memory"),
        ours=tuple(map(str, ours)),
    )


def shrink(document: Document, factors: SizedFactors, by: float, per_core: float = 1.0) -> tuple[Document, ScaleModel]:
    """The document 1:`by`, and what became of its sizes; `per_core` is how many times fewer cores there are here.

    Levels that become equal are one. Raises `UsageError` for a study without sizes, or a model too small to be one.
    """
    resized: dict[tuple[str, str], Resized] = {}
    data: set[str] = set()

    def model_of(name: str, text: str) -> str:
        factor = factors.find(name)
        if factor is None:
            return text
        size = factor.size(name)
        if size is None:
            found = ModelSize().shrunk(text, per_core) if factor.scales and per_core != 1 else None
        else:
            found = size.shrunk(text, by)
        if size is not None and size.data:
            data.add(name)
            if found is not None and found.at_least:
                raise UsageError(
                    f"1:{in_four_digits(by)} leaves too little data: {found.exact:.3g} of {name}={text}",
                    f"the model needs at least one {size.data}: take a larger scale, or vary fewer "
                    f"levels with --levels {name}=…",
                )
        if found is None:
            return text
        resized[name, text] = Resized(name, text, found.typed, found.note)
        return found.typed

    model = with_changed_levels(document, model_of)
    if not data:
        raise UsageError(
            "the study has no scale model, since it does not say how many rows or warehouses its data have",
            "a model shrinks load.scale, load.rows, load.warehouses, load.size or load.file_size; tables of one's own"
            " (load.init) cannot be shrunk",
        )
    return {key: value for key, value in model.items() if key != REQUEST}, ScaleModel(by, tuple(resized.values()))


def to_table(model: ScaleModel) -> dict[str, Any]:
    """The table `[model]`; what is not known is left out, since TOML has no word for it."""
    import msgspec

    known = [{key: value for key, value in asdict(each).items() if value is not None} for each in model.likeness]
    table: dict[str, Any] = msgspec.to_builtins({**asdict(model), "likeness": known})
    return {key: value for key, value in table.items() if key != "processes_beside" or value}


def parse_model(table: object) -> ScaleModel:
    """The table `[model]` of a record; raises `UsageError` for one that no run wrote."""
    import msgspec

    try:
        return msgspec.convert(table, ScaleModel)
    except msgspec.ValidationError:
        raise wrong_type("the study file", RESULT, "what a run of a scale model wrote", table) from None


def in_four_digits(by: float) -> str:
    return f"{float(f'{by:.4g}'):.15g}"
