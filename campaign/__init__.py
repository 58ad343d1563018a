"""Adversarial tests of the promises of the package: ``python -m campaign certificates files --seconds 600 --seed 7``.

Each part tests one promise. Trials are numbered, and a trial depends only on the seed and its number::

    __main__ ── schedule ── batch ── children      trials run in child processes: a crash is an outcome
                   │          └───── outcome
                   └── report                      JSON lines, and a table of them

    certificates ── problems, truth, arithmetic    every gap recomputed in extended precision
        └── shapes                                 bounds of geometry
    files ── formats, mutation, guided, fuzz/      malformed files
    limits                                         too little memory or disk space
    kills                                          signals and time limits
    threads                                        forks and threads
    sanitizers                                     the same on instrumented builds
"""
