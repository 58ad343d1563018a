"""The command line: a module holds one or two verbs, their arguments and the functions that run them."""
