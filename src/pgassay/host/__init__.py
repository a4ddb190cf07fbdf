"""The machine: its facts, its fitness to measure on, accounts, programs and clocks."""
