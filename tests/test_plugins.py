"""Plug-ins are found by their entry points, and a broken one is an error that names its package."""

import sys

import pytest

from pgassay import plugins
from pgassay.plugins import Group, Plugin, PluginError
from tests.packages import Install


def test_nothing_is_installed_beside_ours() -> None:
    assert [plugins.installed(group) for group in Group] == [()] * len(Group)
    assert plugins.load(Group.LOADS, object) == plugins.Loaded({})


def test_a_plugin_is_listed_without_being_imported(install: Install) -> None:
    install("pg-sample", "[pgassay.loads]\nours = sample_a:LOAD\n", "raise SystemExit(3)", "sample_a")
    assert plugins.installed(Group.LOADS) == (Plugin(Group.LOADS, "ours", "sample_a:LOAD", "pg-sample", "1.2"),)
    assert plugins.installed(Group.PROBES) == ()
    assert "sample_a" not in sys.modules


def test_a_plugin_is_loaded(install: Install) -> None:
    install(
        "pg-sample", "[pgassay.loads]\nours = sample_b:LOAD\ntheirs = sample_b:MORE\n", "LOAD = 7\nMORE = 8", "sample_b"
    )
    assert plugins.load(Group.LOADS, int) == plugins.Loaded({"ours": 7, "theirs": 8})
    assert plugins.load(Group.LOADS, int).required() == {"ours": 7, "theirs": 8}


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("", "AttributeError: module 'sample_c' has no attribute 'LOAD'"),
        ("LOAD = (", "SyntaxError: "),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("import sys\nsys.exit()", "SystemExit"),
        ("LOAD = 'seven'", '"sample_c:LOAD" is of type str, not builtins.int'),
    ],
)
def test_a_broken_plugin_names_its_package(install: Install, code: str, reason: str) -> None:
    install("pg-sample", "[pgassay.loads]\nours = sample_c:LOAD\n", code, "sample_c")
    loaded = plugins.load(Group.LOADS, int)
    assert loaded.objects == {}
    (error,) = loaded.broken
    assert error.message.startswith(f'load "ours" of package pg-sample 1.2 cannot be used: {reason}')
    assert error.hint == "update or remove the package: pip install --upgrade pg-sample, or pip uninstall pg-sample"
    with pytest.raises(PluginError, match="pg-sample"):
        loaded.required()


def test_a_broken_plugin_leaves_the_others_alone(install: Install) -> None:
    install("pg-sample", "[pgassay.probes]\nbad = sample_d:BAD\ngood = sample_d:GOOD\n", "GOOD = 7", "sample_d")
    loaded = plugins.load(Group.PROBES, int)
    assert loaded.objects == {"good": 7}
    assert ['probe "bad"' in error.message for error in loaded.broken] == [True]


def test_a_name_is_taken_once(install: Install) -> None:
    install("pg-one", "[pgassay.commands]\nsame = sample_e:RUN\n", "RUN = 7", "sample_e")
    install("pg-two", "[pgassay.commands]\nsame = sample_f:RUN\n", "RUN = 8", "sample_f")
    (error,) = plugins.load(Group.COMMANDS, int).broken
    assert "the name is also taken by pg-one" in error.message
    (error,) = plugins.load(Group.COMMANDS, int, taken=("same",)).broken
    assert "pgassay has a command of this name" in error.message
