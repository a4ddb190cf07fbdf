"""What is asked: a study with its factors, levels, load, responses and design, as plain values.

The ground of the project: pure, imported by every other layer, importing none. A study file is TOML (`parsing`), its
quantities are PostgreSQL's (`units`), the built-in studies are data files (`builtin`).
"""
