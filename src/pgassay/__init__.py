"""pgassay: a laboratory for PostgreSQL on storage, as a library for scripts and notebooks (docs/commands.md).

What `__all__` names is imported when it is first used, so that `import pgassay` and `pgassay --help` take no time.
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

__all__ = [
    "Effect",
    "Findings",
    "PgassayError",
    "Progress",
    "Run",
    "Simulation",
    "Verdict",
    "WrittenStudy",
    "build_study",
    "compare",
    "load_study",
    "resume",
    "run",
    "simulate",
    "verdict",
]

if TYPE_CHECKING:
    from pgassay.library import (
        Effect,
        Findings,
        PgassayError,
        Progress,
        Run,
        Simulation,
        Verdict,
        WrittenStudy,
        build_study,
        compare,
        load_study,
        resume,
        run,
        simulate,
        verdict,
    )


else:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from pgassay import library

        return getattr(library, name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
