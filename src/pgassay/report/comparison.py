"""How treatments were compared, in a sentence each: crossed or linked factors, equal time or equal work.

Factors that moved together cannot be told apart, as page and WAL block in Vondra 2012; costs at equal time carry the
speed in them, since a page's image goes into the WAL once in each checkpoint cycle (docs/report.md).
"""

from math import prod

from pgassay.analysis.factorial import confounded
from pgassay.design.blocks import cautions
from pgassay.study.model import Study
from pgassay.study.work import Work

TRANSACTIONS = "load.transactions"
EQUAL_WORK = {"build.block_size": "page-size-costs", "table.fillfactor": "fillfactor-costs"}
"""The built-in study that compares levels of a factor at equal work."""


def layout(study: Study) -> str:
    """Are several factors crossed, linked, or only partly combined? Empty for one factor."""
    if len(study.factors) < 2:
        return ""
    named = " and ".join(study.factors)
    together = confounded(
        {each.name: {name: level.typed for name, level in each.levels.items()} for each in study.treatments}
    )
    if together:
        return f"linked: {'; '.join(together)}"
    used = [{each.levels[name].typed for each in study.treatments if name in each.levels} for name in study.factors]
    if len(study.treatments) == prod(len(levels) for levels in used):
        return (
            f"crossed: every level of {named} was run with every other, so main effects and interaction can be"
            " separated"
        )
    return (
        f"partly crossed: only some combinations of {named} were run; main effects come from pairs that differ in one"
        " factor"
    )


def equality(study: Study, work: Work) -> str:
    """What was equal between the treatments when costs were taken: the transactions, the time, or that differed."""
    if work.equality:
        return work.equality
    where = study.fixed.get(TRANSACTIONS)
    if TRANSACTIONS in (*study.factors, *study.conditions, *study.covariates):
        return "costs of a transaction are compared at equal work where transactions are counted, else at equal time"
    if where is not None and where.typed != "none":
        return f"costs are compared at equal work: {where.typed} transactions of each client in every trial"
    if study.fixed.get("load.rate") is not None and study.fixed["load.rate"].typed != "none":
        return "costs are compared at equal time and at an equal offered rate"
    text = (
        "costs are compared at equal time, so a faster treatment did more between checkpoints, which makes it cheaper"
    )
    studies = [EQUAL_WORK[name] for name in study.factors if name in EQUAL_WORK]
    return f"{text} (at equal work: pgassay run {studies[0]})" if len(studies) == 1 else text


def order(study: Study) -> str:
    """In which order a block ran its treatments; a factor that chance did not order is named with what that costs."""
    if not study.design.fixed_order:
        return "every treatment ran once in random order"
    return f"every treatment ran once; {'; '.join(cautions(study))}"
