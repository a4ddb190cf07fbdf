"""Which load driver a composition asks for, and the driver itself."""

from pgassay.bench.load import Load
from pgassay.lab.composition import Composition
from pgassay.lab.site import Site
from pgassay.load import drivers


def driver_of(composition: Composition) -> str:
    """The name of the load driver that a composition asks for."""
    return composition.setup.load.get("driver", drivers.DEFAULT)


def load_of(composition: Composition, site: Site) -> Load:
    """The load driver that a composition asks for, of its own installation."""
    return site.load(driver_of(composition), site.installation(composition.setup.installation))
