"""For tests, ours and those of plug-ins: fakes of clock, programs, server, drive, load, probe and disk (`fakes`).

Shipped with pgassay, so that another package's tests can use it; nothing that pgassay itself runs imports it.
"""
