"""Instruments that count what a server executes, behind the interface in `interfaces.probe`."""
