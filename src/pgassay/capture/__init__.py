"""A user's server in a directory, and questions to it: settings, data and load are read, and played on this machine.

`taking` reads a server without changing it (`reads` lists what, `source` is the session), `files` writes and opens the
directory with the values of `format` (docs/your-server.md). Data come by `dump`. `parameters` finds what each parameter
of a statement is compared with, `scripts` makes a load of the statements, `replaying` and `likeness` say how like the
source's it is, and `question` and `asking` write the study that the lab runs. This package knows nothing of the lab.
"""
