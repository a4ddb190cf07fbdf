"""Every factor of ours keeps the contract of factors; the levels of each kind are in the tests of its room."""

from collections.abc import Mapping, Sequence

import pytest

from pgassay.interfaces.factor import Factor
from pgassay.lab.catalogue import every_factor
from pgassay.testing.contracts import FactorContract

CATALOGUE = every_factor()
EXAMPLES: Mapping[str, Mapping[str, str]] = {
    "build.block_size": {"4kB": "4096B", "8192B": "8192B"},
    "host.cores": {"1": "1:apart", "cpu:0": "cpu:0"},
    "host.huge_pages": {"off": "none", "2MB": "2MB"},
    "host.memory": {"1GB": "1GB", "all": "all"},
    "host.transparent_huge_pages": {"always": "always", "never": "never"},
    "index.fillfactor": {"100": "100", "70": "70"},
    "load.clients": {"4": "4", " 8 ": "8"},
    "load.duration": {"60s": "60s", "1min": "60s", "2min": "120s"},
    "schema.change": {"none": "none", "CREATE INDEX ON t (a); ": "CREATE INDEX ON t (a)"},
    "server.*": {"4MB": "4194304B", "4096kB": "4194304B", "on": "on"},
    "table.fillfactor": {"100": "100", "70": "70"},
}
"""Levels as typed, to their canonical form."""
PASSED_ON = {
    "server.*": (),
    "schema.change": ("", " ; "),
}
"""Take any text, but these: PostgreSQL itself refuses what it does not take, before the first trial."""


class TestFactors(FactorContract):
    @pytest.fixture(params=EXAMPLES)
    def factor(self, request: pytest.FixtureRequest) -> Factor:
        found = CATALOGUE.find(request.param.replace("*", "work_mem"))
        assert found is not None
        return found

    @pytest.fixture
    def name(self, factor: Factor) -> str:
        return factor.pattern.replace("*", "work_mem")

    @pytest.fixture
    def levels(self, factor: Factor) -> Mapping[str, str]:
        return EXAMPLES[factor.pattern]

    @pytest.fixture
    def refused(self, factor: Factor) -> Sequence[str]:
        return PASSED_ON.get(factor.pattern, ("", "not a level"))


def test_every_factor_says_what_it_is() -> None:
    assert [factor.pattern for factor in CATALOGUE.all() if not factor.summary] == []
