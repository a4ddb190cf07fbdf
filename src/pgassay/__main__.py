"""`python -m pgassay` is `pgassay`: for machines where scripts are not on the path."""

from pgassay.cli import console

console()
