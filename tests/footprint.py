"""The peak memory of a call in this process, including compiled code."""

import ctypes
import gc
import re
from pathlib import Path

import pytest

STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
MEGABYTE = 1 << 20


def resident(entry):
    return int(re.search(rf"{entry}:\s+(\d+) kB", STATUS.read_text())[1]) * 1024


def peak_of(call):
    """Bytes in memory at the peak of the call, minus those before it; an error of the call is raised."""
    if not RESET.exists():
        pytest.skip("this system does not tell the peak of a part of a process")
    gc.collect()
    getattr(ctypes.CDLL(None), "malloc_trim", id)(0)  # memory freed before must not hide what the call allocates
    RESET.write_text("5")
    before = resident("VmRSS")
    call()
    return resident("VmHWM") - before
