"""The command line: one module per verb, with its arguments and the function that runs it."""
