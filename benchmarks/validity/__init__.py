"""Are pgassay's statistics right? Simulated studies, looked at after every block: `python -m benchmarks.validity`."""
