"""`python -m storscope`: the same as the command `storscope`, of the interpreter that is asked."""

from storscope.cli.entry import main

main()
