"""Data made from statistics against the data that these describe: what the planner makes of both, and their sizes."""
