"""A fake of every interface of the bench, deterministic, for simulating whole runs in tests."""
