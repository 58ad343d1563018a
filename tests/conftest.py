"""Tests of Ctrl-C need a process that receives it: shells without job control start jobs that ignore SIGINT."""

import signal

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
