"""Values and interfaces that the rooms of the bench share: postgres, host, drive, load, probe, count.

Nothing here touches the machine. The rooms implement these interfaces and know only them, never each other; `lab`
composes them. `testing.fakes` has a fake of each; real and fake pass one contract suite (`testing`).
"""
