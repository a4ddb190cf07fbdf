"""Fakes of programs, drive, load, probe, disk and fleet, one for each interface; the contracts hold for both."""
