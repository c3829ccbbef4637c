"""One event engine for IR with buffers: pipes as queues, flags, barriers, slots; observers say what a run is for.

    program    a kernel unrolled into the instructions that one core issues
    machine    the pipes that run them, in any order that the hardware allows
    clocks     observer: what is known to have happened before what; races, flags misused, deadlocks
    values     observer: the numbers, at their real addresses

A simulator adds an observer of time. Flags are raised and lowered in `machine` only.
"""
