"""What is said of data that statistics cannot give, in PostgreSQL's manner: lower case, no full stop, with a hint."""

from pgassay.bench.errors import BenchError


class SyntheticError(BenchError):
    """Statistics that no data can be made from."""
