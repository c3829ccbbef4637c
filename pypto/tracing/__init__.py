"""From a tile function to IR: the traced values users see, loops, conditions, calls, and eager mode on the same
values.
"""
