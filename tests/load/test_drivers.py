"""The registry: every driver's options are factors, no name means two things, and strangers' options are refused."""

import pytest

from pgassay.errors import UsageError
from pgassay.interfaces.load import Driver, LoadOptions
from pgassay.interfaces.options import declared_options, factors_of
from pgassay.load import drivers


@pytest.mark.parametrize("driver", drivers.known(), ids=lambda driver: driver.name)
def test_every_option_of_a_driver_is_that_very_factor(driver: Driver[LoadOptions]) -> None:
    """Two drivers that share a name share its parser too: one object, or a level would mean two things."""
    by_name = {each.pattern: each for each in drivers.factors()}
    for factor in factors_of(driver.options):
        name = factor.option.name
        assert driver.takes(name)
        if factor.default:
            level = by_name[factor.pattern].parse(factor.pattern, factor.default)
            assert driver.options.from_levels({name: level.canonical}) == driver.options()
    assert drivers.DriverFactor().parse("load.driver", driver.name).canonical == driver.name


@pytest.mark.parametrize("driver", drivers.known(), ids=lambda driver: driver.name)
def test_no_option_of_a_base_is_lost_where_bases_meet(driver: Driver[LoadOptions]) -> None:
    """A field of one base hides that of another if both declare it, and a plain field hides an option."""
    own = set(declared_options(driver.options))
    for base in driver.options.__mro__:
        if issubclass(base, LoadOptions):
            assert set(declared_options(base)) <= own


def test_a_warm_up_is_the_same_load_for_its_own_length() -> None:
    options = drivers.options_of({"driver": "tpcc", "transactions": "5", "warmup": "3s", "clients": "7"})
    warm_up = options.warm_up()
    assert (options.timed_s, options.connections) == (None, 7)
    assert (warm_up.timed_s, warm_up.connections, warm_up.warmup_s) == (3, 7, 0)


def test_what_every_driver_has_is_never_refused() -> None:
    for driver in drivers.known():
        options = drivers.options_of({"driver": driver.name, "warmup": "3s", "cache": "cold", "yardstick": "cpu"})
        assert (type(options), options.warmup_s) == (driver.options, 3)
        assert drivers.find(options.driver) is driver


def test_an_unknown_driver_is_refused_with_those_that_are_there() -> None:
    with pytest.raises(UsageError) as caught:
        drivers.DriverFactor().parse("load.driver", "pgbensh")
    assert "pgbench" in str(caught.value.hint)


def test_a_program_that_is_missing_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pgassay.interfaces.load.children.which", lambda name: None)
    for name in ("sysbench", "sysbench-tpcc", "fio"):
        with pytest.raises(UsageError, match="is not installed") as caught:
            drivers.require_program(name)
        assert caught.value.hint
    drivers.require_program("pgbench")
