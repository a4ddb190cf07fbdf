"""How trials are laid out: randomised complete blocks, which trial comes next, and when to stop.

Pure: a schedule is a function of the study, the seed and the history, so that replaying a journal gives it again.
"""
