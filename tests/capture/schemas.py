"""A small schema with statistics, for tests of what is drawn from it."""

from pgassay.capture.format import Column, Table

KEY = Column(
    "id", "bigint", not_null=True, unique=True, null_share=0.0, width_bytes=8, n_distinct=-1.0,
    histogram=tuple(str(1 + 10 * n) for n in range(101)),
)  # fmt: skip
SKEWED = Column(
    "customer_id", "integer", not_null=True, null_share=0.0, width_bytes=4, n_distinct=90.0,
    common_values=("7", "8"), common_shares=(0.5, 0.2), histogram=("1", "2", "5", "20", "60", "100"),
)  # fmt: skip
STATUS = Column(
    "status", "text", not_null=True, null_share=0.0, width_bytes=8, n_distinct=2.0,
    common_values=("open", "it's: done"), common_shares=(0.75, 0.25),
)  # fmt: skip
PLACED = Column(
    "placed_at", "timestamp with time zone", null_share=0.0, width_bytes=8, n_distinct=-1.0,
    histogram=tuple(f"2025-01-{day:02d} 00:00:00+00" for day in range(1, 29)),
)  # fmt: skip
UNKNOWN = Column("note", "text")
ORDERS = Table("public", "orders", 1000.0, 20, (KEY, SKEWED, STATUS, PLACED, UNKNOWN))
EMAIL = Column(
    "email", "character varying(20)", not_null=True, unique=True, null_share=0.0, width_bytes=18, n_distinct=-1.0,
    histogram=("a@x", "b@x", "c@x"),
)  # fmt: skip
CUSTOMERS = Table("public", "customers", 100.0, 2, (Column("id", "integer", not_null=True, unique=True), EMAIL))
TABLES = (ORDERS, CUSTOMERS)
