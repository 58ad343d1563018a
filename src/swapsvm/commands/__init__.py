"""The verbs of the command line about models: one module for each, with its arguments and the function that runs it."""
