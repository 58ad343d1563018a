"""Tests of Ctrl-C need a process that hears it: jobs of a shell without job control are started deaf to SIGINT."""

import signal

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
