"""The registry: every driver's options are factors, no name means two things, and strangers' options are refused."""

import pytest

from pgassay.errors import UsageError
from pgassay.load import drivers
from pgassay.load.factors import DRIVER, FACTORS
from pgassay.load.shared_factors import EVERY


@pytest.mark.parametrize("driver", drivers.DRIVERS, ids=lambda driver: driver.name)
def test_every_option_of_a_driver_is_that_very_factor(driver: drivers.Driver) -> None:
    """Two drivers that share a name share its parser too: one object, or a level would mean two things."""
    by_name = {each.pattern: each for each in FACTORS}
    for factor in driver.factors:
        assert by_name[factor.pattern].parse is not None
        assert driver.knows(factor.pattern.removeprefix("load."))
    assert DRIVER.parse("load.driver", driver.name).canonical == driver.name


def test_what_every_driver_has_is_never_refused() -> None:
    for driver in drivers.DRIVERS:
        drivers.refuse_foreign(driver.name, ["server.work_mem", "load.driver", *(each.pattern for each in EVERY)])


def test_an_unknown_driver_is_refused_with_those_that_are_there() -> None:
    with pytest.raises(UsageError) as caught:
        DRIVER.parse("load.driver", "pgbensh")
    assert "pgbench" in str(caught.value.hint)


def test_a_program_that_is_missing_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pgassay.load.drivers.shutil.which", lambda name: None)
    for name in ("sysbench", "go-tpc", "sysbench-tpcc"):
        with pytest.raises(UsageError, match="is not installed") as caught:
            drivers.require_program(name)
        assert caught.value.hint
    drivers.require_program("pgbench")
