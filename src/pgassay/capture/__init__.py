"""A user's server in a directory, and questions to it: settings, data and load are read, and played on this machine.

`source` reads a server without changing it (`reads` lists what), `files` writes and opens the directory with the values
of `format` (docs/your-server.md). `parameters` finds what each parameter of a statement is compared with, `draws` and
`scripts` make a load of the statements, `playing`, `counting` and `likeness` say how like the source's it is, `pace` at
which rate it is due, and `question` writes the study that the lab runs. This package knows nothing of the lab.
"""
