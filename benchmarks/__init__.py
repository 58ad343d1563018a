"""Measurements: what is measured (objective), on what (datasets), by whom (solvers)."""
