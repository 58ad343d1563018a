"""How much memory of this process a call takes at its peak, compiled code included."""

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
    """Bytes that were in memory at the peak of the call and not before; an error of the call is raised."""
    if not RESET.exists():
        pytest.skip("this system does not tell the peak of a part of a process")
    gc.collect()
    getattr(ctypes.CDLL(None), "malloc_trim", id)(0)  # what was freed before must not hide what is taken now
    RESET.write_text("5")
    before = resident("VmRSS")
    call()
    return resident("VmHWM") - before
