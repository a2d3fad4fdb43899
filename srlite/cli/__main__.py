"""`python -m srlite.cli`: the same as `srlite`."""

from srlite.cli import main

main()
