"""A fit: its inputs, its plan of problems, and the session that solves them.

::

    inputs ── rows, weights, kernel, precision      duplicates, diagnosis, separation
    Subproblem ── Classification, Regression, Detection
    Session ─┬─ PlanRuns ── Run (one for each problem), workers: side by side or one after the other
             ├─ TimeBudget, Interrupts             what stops runs
             ├─ Observers, Tasks                   who watches: callbacks, bar, log; scikit-learn's callbacks
             └─ Kept, CheckpointFile               where the next fit continues
"""
