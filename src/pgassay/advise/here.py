"""What this machine and this load can try: settings that they bar, with the reason, and levels that no factor accepts.

Everything here is asked before the first trial.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from pgassay.advise import messages
from pgassay.advise.knowledge import OF_THE_HOST, SERVER, Setting
from pgassay.advise.laboratory import Question
from pgassay.advise.space import Space
from pgassay.bench.factor import Factor
from pgassay.host import huge_pages
from pgassay.lab.catalogue import FactorCatalogue

HUGE_PAGES, RESERVED = "huge_pages", "host.huge_pages"
"""PostgreSQL's setting, and the factor by which the lab reserves what the server asks for."""


def barred(
    settings: Iterable[Setting], question: Question, catalogue: FactorCatalogue, root: Path = Path("/")
) -> dict[str, str]:
    """What cannot be tried here, with the reason; raises `UsageError` for a factor that there is not."""
    every = tuple(settings)
    names = {each.name for each in every}
    found: dict[str, str] = {}
    for each in every:
        if each.factor in question.held:
            found[each.name] = messages.held(each.factor)
        elif each.name.startswith(OF_THE_HOST):
            found[each.name] = factor_of(each, catalogue).unavailable(each.factor) or ""
        elif each.name.startswith("table.") and "scale" not in question.load:
            found[each.name] = messages.tables_of_its_own()
        elif each.name == HUGE_PAGES and (RESERVED in names or RESERVED in question.held):
            found[each.name] = messages.set_by(RESERVED)
        elif each.name == HUGE_PAGES and not huge_pages.to_be_had(root):
            found[each.name] = messages.no_huge_pages(RESERVED, root=os.geteuid() == 0)
    return {name: why for name, why in found.items() if why}


def require_levels(space: Space, catalogue: FactorCatalogue) -> None:
    """Raise `UsageError` for a level that its factor does not accept, or that this machine cannot have.

    PostgreSQL judges those of its own settings.
    """
    for dimension in space.dimensions:
        name = dimension.setting.factor
        if not name.startswith(SERVER):
            factor = factor_of(dimension.setting, catalogue)
            for each in dimension.levels:
                factor.require_here(name, factor.parse(name, each))


def factor_of(setting: Setting, catalogue: FactorCatalogue) -> Factor:
    """What applies a dimension; raises `UsageError` where there is nothing of that name."""
    found = catalogue.find(setting.factor)
    if found is None:
        namespace = setting.factor.partition(".")[0]
        raise messages.unknown_factor(setting.factor, [e for e in catalogue.names() if e.startswith(f"{namespace}.")])
    return found
