"""Plans in a server's log, and how often a statement is asked; real servers are in test_real_capture."""

import pytest

from pgassay.capture.format import Statement
from pgassay.capture.replaying import CALLS_MAX, calls_of, plan_in
from pgassay.capture.scripts import CapturedScript

LOG = """2026-11-23 14:49:01.216 UTC [1817] LOG:  duration: 0.034 ms  plan:
\tQuery Text: SELECT 1;
\tResult  (cost=0.00..0.01 rows=1 width=4) (actual rows=1 loops=1)
2026-11-23 14:49:01.230 UTC [1817] LOG:  duration: 0.058 ms  plan:
\tQuery Text: SELECT id, country
\t  FROM customers WHERE email = $1;
\tIndex Scan using customers_email_key on customers  (cost=0.28..8.30 rows=1 width=7) (actual rows=1 loops=1)
\t  Index Cond: (email = 'user7@example.org'::text)
\t  Buffers: shared hit=3
2026-11-23 14:49:01.232 UTC [1817] LOG:  disconnection
"""


def test_the_last_plan_is_taken_without_the_text_of_its_query() -> None:
    assert plan_in(LOG).splitlines() == [
        "Index Scan using customers_email_key on customers  (cost=0.28..8.30 rows=1 width=7) (actual rows=1 loops=1)",
        "  Index Cond: (email = 'user7@example.org'::text)",
        "  Buffers: shared hit=3",
    ]
    assert plan_in("LOG:  checkpoint starting: time\n") == ""


@pytest.mark.parametrize(("mean_ms", "calls"), [(0.05, CALLS_MAX), (10.0, 20), (5000.0, 1), (0.0, CALLS_MAX)])
def test_a_slow_statement_is_asked_less_often(mean_ms: float, calls: int) -> None:
    statement = Statement(1, "SELECT 1", 10, 10 * mean_ms, 10)
    assert calls_of(CapturedScript((statement,), "001", "SELECT 1;\n", 10)) == calls
