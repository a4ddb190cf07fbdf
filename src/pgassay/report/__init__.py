"""The report of a run: text, tables, figures, one self-contained page. It reads the record and touches no server."""
