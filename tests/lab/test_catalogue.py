"""The catalogue finds the most specific factor; every factor answers nonsense with a level or a refusal in words."""

from contextlib import suppress

import pytest

from pgassay.errors import PgassayError
from pgassay.interfaces.factor import Factor
from pgassay.lab.catalogue import FactorCatalogue, every_factor
from pgassay.plugins import PluginError
from tests.packages import Install


class Named(Factor):
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern


def test_the_most_specific_factor_is_found_first() -> None:
    exact, wide, narrow = Named("table.fillfactor"), Named("*"), Named("table.*.fillfactor")
    for factors in ([exact, wide, narrow], [wide, narrow, exact]):
        catalogue = FactorCatalogue(factors)
        assert catalogue.find("table.fillfactor") is exact
        assert catalogue.find("table.orders.fillfactor") is narrow
        assert catalogue.find("anything") is wide
    assert FactorCatalogue([exact]).find("table.orders") is None


def test_every_room_has_its_factors_in_the_catalogue_and_each_is_explained() -> None:
    catalogue = every_factor()
    names = [factor.pattern for factor in catalogue.all()]
    assert {"server.*", "table.fillfactor", "load.clients", "drive.data", "init.data_checksums"} <= set(names)
    assert len(set(names)) == len(names)
    assert [factor.pattern for factor in catalogue.all() if not factor.summary.strip()] == []
    assert catalogue.names() == names


NONSENSE = (
    "", "0", "-1", "1e999", "1e999GB", "1e308GB", "1e999s", "nan", "inf", "²", "٣", "0x" + "f" * 300, "9" * 400,
    "9" * 400 + "s", "1:", ":", "..", "1..", "@", "%", "-5%", "nan%", "1e400%", "\0", "\n", "0-", "3-1", "0-999999999",
    "cpu:", "cpu:x", "4:together:", "device:", "directory:", "FILE.toml", "git:", "git:x@", "tarball:", "x", "0x",
    "nanx", "1e999x", "1e999rows", "17.", ".5", "17.-1", "random:", "random:200%", "/", "'", "{",
)  # fmt: skip


@pytest.mark.parametrize("typed", NONSENSE)
def test_nonsense_is_a_level_or_refused_in_words(typed: str) -> None:
    for factor in every_factor().all():
        with suppress(PgassayError):
            factor.parse(factor.pattern.replace("*", "work_mem"), typed)


FACTOR = """
from pgassay.interfaces.factor import Factor, Stage

class Governor(Factor):
    pattern = "{pattern}"
    stage = Stage.HOST

FACTOR = Governor()
"""


def test_another_package_s_factor_is_found_by_its_name(install: Install) -> None:
    code = FACTOR.format(pattern="host.governor")
    install("pg-governor", "[pgassay.factors]\ngovernor = pg_governor_a:FACTOR\n", code, "pg_governor_a")
    found = every_factor().find("host.governor")
    assert found is not None
    assert type(found).__name__ == "Governor"


def test_another_package_s_factor_takes_no_name_of_ours(install: Install) -> None:
    code = FACTOR.format(pattern="host.cores")
    install("pg-governor", "[pgassay.factors]\ngovernor = pg_governor_b:FACTOR\n", code, "pg_governor_b")
    with pytest.raises(PluginError, match=r"of package pg-governor 1\.2 .* pgassay has a factor of this name"):
        every_factor()


NINES = "9" * 5000
"""More digits than Python reads (sys.set_int_max_str_digits)."""


@pytest.mark.parametrize(
    "typed",
    [
        NINES, f"-{NINES}", f"{NINES}MB", f"{NINES}s", f"{NINES}%", f"{NINES}x", f"{NINES}rows", f"also:{NINES}",
        f"a.sql@{NINES}", f"{NINES}..{NINES}", f"x={NINES}", f"random:{NINES}%", f"cpu:{NINES}", f"0-{NINES}",
        f"{NINES}:together", f"{NINES}.{NINES}", f"1e{NINES}", f"0x{NINES}",
    ],
)  # fmt: skip
def test_a_level_of_thousands_of_digits_is_a_level_or_is_refused(typed: str) -> None:
    for factor in every_factor().all():
        with suppress(PgassayError):
            assert factor.parse(factor.pattern, typed).canonical
