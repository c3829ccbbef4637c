"""What `pypto check` finds in kernels that are read or lowered well."""

from __future__ import annotations

from pypto.ir.base.catalogue.entry import Entry

ENTRIES: dict[str, Entry] = {
    "bank-conflict": Entry(
        "{first} and {second}, which {operation} reads together, both begin in bank group {group} (bytes "
        "{first_address} and {second_address}): every read waits for the other",
        "move one of the two buffers by 32 to 480 bytes that are no multiple of 512",
    ),
    "block-order": Entry(
        "{blocks} touch the same elements of {array}, one of them writing, and no barrier lies between",
        "write `set_barrier {{barrier_id = 0, participants = N}}` after the earlier statement and "
        "`wait_barrier {{barrier_id = 0}}` before the later one, N being the number of blocks",
    ),
    "blocks-wait": Entry("{what}", "let all blocks set the same barriers, and wait for them, in the same order"),
    "check-options": Entry("an option does not belong to {file}", "for this kind of file there are {options}"),
    "flag-misuse": Entry(
        "{what}",
        "a flag is one bit: set it once, wait for it once, and set it again only where its last wait has surely run",
    ),
    "race": Entry(
        "pipe {later} and pipe {earlier} both touch {resource}, one of them writing, and nothing orders the two",
        'write `set_flag {{destination = "{later}", id = N, source = "{earlier}"}}` after the earlier statement and '
        '`wait_flag {{destination = "{later}", id = N, source = "{earlier}"}}` before the later one',
    ),
    "race-in-pipe": Entry(
        "two instructions of pipe {later} both touch {resource}, one of them writing, and may overlap in time",
        'write `pipe_barrier {{pipe = "{later}"}}` between the two',
    ),
}
