"""What a relation's file belongs to, as a person would call it."""

from dataclasses import dataclass

FIRST_USER_OID = 16384
"""Objects with smaller numbers come with PostgreSQL (transam.h, FirstNormalObjectId)."""

_KINDS = {"r": "table", "m": "table", "i": "index", "t": "TOAST", "S": "sequence"}


@dataclass(frozen=True)
class Name:
    """`kind` is table, index, TOAST, sequence or other; `of` is the table that an index or TOAST serves, if known."""

    database: str
    schema: str
    relation: str
    kind: str
    is_system: bool
    of: str | None = None

    @property
    def label(self) -> str:
        """Schema and relation, without `public`."""
        return self.relation if self.schema in ("public", "") else f"{self.schema}.{self.relation}"


def kind_of(relkind: str) -> str:
    """The word for pg_class.relkind."""
    return _KINDS.get(relkind, "other")
