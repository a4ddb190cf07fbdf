"""What every factor, load, probe, report section and importer keeps, as classes of tests that ours and plug-ins pass.

A plug-in's tests derive from them and say by fixtures what is tested; pytest collects the rest:

    class TestRowCounter(ProbeContract):
        @pytest.fixture
        def probe(self) -> Probe:
            return RowCounter()

Tests that start a PostgreSQL are marked `system`; register that marker in your own pytest settings.
"""

import pytest

pytest.register_assert_rewrite(
    *(f"{__name__}.{module}" for module in ("factor", "importer", "load", "probe", "section"))
)

from pgassay.testing.contracts.factor import FactorContract  # noqa: E402
from pgassay.testing.contracts.importer import ImporterContract  # noqa: E402
from pgassay.testing.contracts.load import LoadContract, LoadOnServer, load_on_server  # noqa: E402
from pgassay.testing.contracts.probe import ProbeContract, ReaderContract, Readers  # noqa: E402
from pgassay.testing.contracts.section import SectionContract  # noqa: E402

__all__ = [
    "FactorContract",
    "ImporterContract",
    "LoadContract",
    "LoadOnServer",
    "ProbeContract",
    "ReaderContract",
    "Readers",
    "SectionContract",
    "load_on_server",
]
