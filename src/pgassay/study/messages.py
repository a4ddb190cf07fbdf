"""Every message of the study layer, in PostgreSQL's manner: lower case, no full stop, with a hint where one helps."""

from collections.abc import Iterable

from pgassay.errors import UsageError, did_you_mean


def unknown_key(where: str, key: str, known: Iterable[str]) -> UsageError:
    """A typo in a study file."""
    words = list(known)
    return UsageError(f'unknown key "{key}" in {where}', did_you_mean(key, words, f"known keys: {', '.join(words)}"))


def each_of_no_factor(text: str, name: str, known: Iterable[str]) -> UsageError:
    """A claim is made at each level of what the study neither varies nor holds."""
    words = list(known)
    hint = did_you_mean(name, words, f"factors of this study: {', '.join(words)}")
    return UsageError(f'claim "{text}" has each = "{name}", which is no factor of this study', hint)


def wrong_type(where: str, key: str, expected: str, found: object) -> UsageError:
    """A value of another type than the key takes."""
    return UsageError(f'"{key}" in {where} must be {expected}, not {found!r}')


def unknown_factor(where: str, name: str, known: Iterable[str]) -> UsageError:
    """No factor of this name."""
    hint = did_you_mean(
        name, known, 'settings are factors as "server.NAME"; for all others see "pgassay studies --factors"'
    )
    if name == "schema.partition":
        hint = 'make the table a partitioned one by SQL of your own: "schema.change", or ask --change'
    return UsageError(f'unknown factor "{name}" in {where}', hint)


def settles_nothing(name: str, responses: Iterable[str]) -> UsageError:
    """The schedule would wait for a response that the study does not ask for."""
    words = list(responses)
    hint = did_you_mean(name, words, f"list it under secondary, or name one of: {', '.join(words)}")
    return UsageError(f'"design.settle" names "{name}", which is not a response of this study', hint)


def set_needs_value(text: str, option: str) -> UsageError:
    """An override that is not NAME=VALUE."""
    return UsageError(f'{option} takes NAME=VALUE, not "{text}"', f"for example {option} load.scale=100")


def unknown_study(name: str, known: Iterable[str]) -> UsageError:
    """Neither a file nor a built-in study."""
    words = list(known)
    return UsageError(
        f'no study file and no built-in study is called "{name}"',
        did_you_mean(name, words, f"the built-in studies are: {', '.join(words)}"),
    )


def unknown_response(name: str, named: Iterable[str], known: Iterable[str]) -> UsageError:
    """A threshold on what the load and the probes do not measure; `named` are the study's own responses."""
    hint = did_you_mean(name, known, f"this study asks for: {', '.join(named)}")
    return UsageError(f'the response "{name}" of a threshold is not measured', hint)


def in_four_digits(by: float) -> str:
    """A scale's number: `250`, `931.3`, `13500`, `1e+300`."""
    return f"{float(f'{by:.4g}'):.15g}"


AS_MANY_AS_OPENED = "no more than are opened: the shared memory of each does not shrink"
"""Why a model has fewer connections than its original."""


WITHOUT_PROCESSES = "of memory without what the server's processes take"
"""What a number that has memory in it is about."""
