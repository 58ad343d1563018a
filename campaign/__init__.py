"""Hostile tests of what the package promises: ``python -m campaign certificates files --seconds 600 --seed 7``.

A part tries one promise. Its trials are numbered, and a trial depends on nothing but the seed and its number::

    __main__ ── schedule ── batch ── children      trials run in child processes: a crash is an outcome
                   │          └───── outcome
                   └── report                      JSON lines, and a table made of them

    certificates ── problems, truth, arithmetic    every gap again, in extended precision
        └── shapes                                 bounds of geometry
    files ── formats, mutation, guided, fuzz/      malformed files
    limits                                         little memory, little disk
    kills ── interrupts                            signals and limits of time
    threads                                        forks and threads
    sanitizers                                     the same on instrumented builds
"""
