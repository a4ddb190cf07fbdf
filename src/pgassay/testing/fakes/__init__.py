"""A fake of every interface of the bench and of the disk of the record, deterministic, to simulate whole runs."""
