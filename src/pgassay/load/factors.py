"""All factors of all loads: the driver's name, what every driver has, and each driver's own (`load/NAME/factors.py`).

What the loaded data depend on is of the data stage and part of a snapshot's key; all else is of the run stage. `cache`,
`checkpoint` and `vacuum` are asked for here and done by the lab.
"""

from pgassay.bench.factor import Factor, Stage
from pgassay.load.drivers import DRIVERS
from pgassay.load.load_factor import LoadFactor, choice
from pgassay.load.shared_factors import EVERY

DRIVER = LoadFactor(
    "driver", choice(*(driver.name for driver in DRIVERS)), "the program that makes the load", Stage.DATA
)

FACTORS: tuple[Factor, ...] = tuple(
    {each.pattern: each for each in (DRIVER, *(own for driver in DRIVERS for own in driver.factors), *EVERY)}.values()
)
