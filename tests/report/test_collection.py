"""The pause ends, also when what is inside fails, and does not switch on what was off."""

import gc

import pytest

from pgassay.report.findings import garbage_collection_paused


def _fail() -> None:
    with garbage_collection_paused():
        assert not gc.isenabled()
        raise ZeroDivisionError


def test_it_is_paused_and_goes_on_again() -> None:
    with pytest.raises(ZeroDivisionError):
        _fail()
    assert gc.isenabled()


def test_what_was_off_stays_off() -> None:
    gc.disable()
    try:
        with garbage_collection_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
