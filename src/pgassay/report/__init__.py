"""A run made readable: text, tables, figures, one self-contained page. Reads the record, knows no room of the bench."""
