"""A load of another package: one module and one entry point, and it is known everywhere by what it says of itself."""

import pytest

from pgassay.errors import UsageError
from pgassay.interfaces.load import Tools
from pgassay.lab.catalogue import every_factor
from pgassay.lab.counted import require_countable
from pgassay.load import drivers
from pgassay.plugins import PluginError
from tests.load.loads import fake_tools
from tests.packages import Install

CODE = """
from dataclasses import dataclass

from pgassay.interfaces.kinds import choice, whole
from pgassay.interfaces.load import BaseLoad, Driver, LoadOptions
from pgassay.interfaces.options import option


@dataclass(frozen=True, kw_only=True)
class QueueOptions(LoadOptions):
    driver = "queue"
    workers: int = option(whole(1, 64), default=2, scales=True, summary="sessions that take jobs")
    scale: str = option(choice("small", "large"), default="small", summary="how many jobs there are")

    @property
    def connections(self):
        return self.workers + 1


class QueueLoad(BaseLoad[QueueOptions]):
    responses = ()


DRIVER = Driver(QueueOptions, QueueLoad, "a job queue", program="no-such-queue", program_hint="pip install queue")
"""


@pytest.fixture
def tools(install: Install) -> Tools:
    install("pg-queue", "[pgassay.loads]\nqueue = pg_queue_load:DRIVER\n", CODE, "pg_queue_load")
    return fake_tools()


def test_it_is_found_and_made_with_its_own_options(tools: Tools) -> None:
    options = drivers.options_of({"driver": "queue", "workers": "8", "duration": "5s"})
    assert (options.timed_s, options.connections) == (5, 9)
    load = drivers.make(options, tools)
    assert (load.name, load.options, load.data_key()) == ("queue", options, {})


def test_its_options_are_factors_and_its_driver_a_level(tools: Tools) -> None:
    catalogue = every_factor()
    workers = catalogue.find("load.workers")
    assert workers is not None
    assert (workers.accepts, workers.default, workers.scales) == ("a whole number from 1 to 64", "2", True)
    driver = catalogue.find("load.driver")
    assert driver is not None
    assert driver.parse("load.driver", "queue").canonical == "queue"


def test_a_name_that_another_driver_has_too_takes_the_words_of_both(tools: Tools) -> None:
    scale = every_factor().find("load.scale")
    assert scale is not None
    assert [scale.parse("load.scale", typed).canonical for typed in ("1_0", "large")] == ["10", "large"]
    assert "small (queue)" in scale.default
    with pytest.raises(UsageError, match="cannot be"):
        drivers.options_of({"driver": "queue", "scale": "10"})


def test_what_it_has_not_is_refused_and_its_program_is_named(tools: Tools) -> None:
    with pytest.raises(UsageError, match=r'"load\.clients" is not an option of the load "queue"') as caught:
        drivers.options_of({"driver": "queue", "clients": "4"})
    assert "load.workers" in str(caught.value.hint)
    with pytest.raises(UsageError, match='"no-such-queue" is not installed') as missing:
        drivers.require_program("queue")
    assert missing.value.hint == "pip install queue"


def test_a_broken_one_stops_only_who_asks_for_it(install: Install) -> None:
    install("pg-broken", "[pgassay.loads]\nbroken = pg_broken_load:DRIVER\n", "1 / 0", "pg_broken_load")
    assert drivers.find("pgbench") is drivers.BUILT_IN[0]
    assert drivers.options_of({"clients": "4"}).connections == 4
    with pytest.raises(PluginError, match="pg-broken"):
        drivers.find("broken")


def test_it_is_counted_only_where_it_says_that_it_can_be(tools: Tools) -> None:
    with pytest.raises(UsageError, match='the load "queue" cannot be counted') as caught:
        require_countable({"load": {"driver": "queue"}})
    assert "pgbench" in str(caught.value.hint)
    assert "queue" not in str(caught.value.hint)
    require_countable({"load": {"driver": "pgbench"}})
    with pytest.raises(UsageError, match=r'"load\.count" is not an option of the load "queue"'):
        drivers.options_of({"driver": "queue", "count": "on"})
