"""The life of a trial and of a run: composes the rooms of the bench, checks validity, commits, resumes.

Takes every outside thing (clock, cluster, drive, load, probes) by an interface, so that a whole run can be simulated,
crashed at every step and resumed in a test.
"""
