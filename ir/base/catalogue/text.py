"""Mistakes in a .pto file, and what the verifier finds in IR however it was made."""

from __future__ import annotations

from pypto.ir.base.catalogue.entry import Entry

_SYNTAX: dict[str, Entry] = {
    "text-header": Entry("the text does not begin with a version header", "write `pto {supported}` in the first line"),
    "text-version": Entry(
        "the text has version {version} of the format; this pypto reads version {supported}",
        "print the kernel again with this version of pypto, or read it with the version that wrote it",
    ),
    "text-syntax": Entry("unexpected {found}", "{expected}; docs/ir.md has the grammar"),
    "text-nesting": Entry(
        "nesting deeper than {limit}",
        "split the expression, or move inner loops into another kernel; {limit} is the limit",
    ),
    "text-number": Entry("a number of {digits} digits", "numbers have at most {limit} digits"),
    "text-escape": Entry("the string has an escape {escape} that means nothing", r"write \\ \" \n \t \r or \u{{hex}}"),
    "text-encoding": Entry("byte {offset} of the file is not UTF-8", "save the file as UTF-8"),
    "unknown-word": Entry(
        "{word} is no attribute value", "write a number, a string in quotes, true, false, none or a dtype; {hint}"
    ),
    "unknown-dtype": Entry("there is no dtype called {dtype}", "{hint}"),
    "unknown-level": Entry("there is no level called {level}", "write tile, buffered, synchronised or planned"),
    "output-role": Entry(
        "{parameter} stands behind the arrow and is called {role}",
        "parameters behind the arrow are outputs: leave {role} out",
    ),
    "index-divisor": Entry("an index is divided by {divisor}", "divide by a number of at least 1"),
    "fill-value": Entry("fill is {value}", "write a number, true or false; a float only for an array of floats"),
    "unknown-space": Entry("there is no memory called {space}", "{hint}"),
}

_NAMES: dict[str, Entry] = {
    "undefined-value": Entry(
        "{value} has no definition before this line", "define it earlier in this body or a body around it; {hint}"
    ),
    "undefined-symbol": Entry(
        "index {symbol} is not known here",
        "use a grid axis, the index of a loop around this line or an extent of a parameter; {hint}",
    ),
    "value-redefined": Entry("{value} is defined twice in one kernel", "give the second definition another name"),
    "symbol-redefined": Entry(
        "index {symbol} is already the name of a loop index, grid axis or extent here",
        "give this loop or axis another index name",
    ),
    "value-changed": Entry(
        "{value} is used as {used} but was defined as {defined}",
        "use the value with the type and buffer of its definition",
    ),
    "unknown-parameter": Entry("kernel {kernel} has no parameter called {parameter}", "{hint}"),
    "duplicate-parameter": Entry("two parameters are called {parameter}", "give one of them another name"),
    "duplicate-kernel": Entry("two kernels are called {kernel}", "give one of them another name"),
    "unknown-argument": Entry(
        "kernel {kernel} takes {parameter}, which is neither a parameter nor an intermediate of the module",
        "add it to the module line, or write `intermediate {parameter}: gm ...`",
    ),
    "argument-role": Entry(
        "{parameter} is an input of the module but {role} in kernel {kernel}",
        "declare it `inout`, or as an output, in the module line",
    ),
    "argument-type": Entry(
        "{parameter} is {inner} in kernel {kernel} but {outer} in the module",
        "declare it with the same type in both places",
    ),
}

_OPERATIONS: dict[str, Entry] = {
    "unknown-operation": Entry("there is no operation called {operation}", "{hint}"),
    "unknown-attribute": Entry("{operation} has no attribute called {attribute}", "{hint}"),
    "missing-attribute": Entry(
        "{operation} needs the attribute {attribute}", "write `{{{attribute} = ...}}` after the operands"
    ),
    "duplicate-attribute": Entry("attribute {attribute} is given twice", "keep one of them"),
    "attribute-order": Entry("the attributes {attributes} are not sorted by name", "sort them"),
    "attribute-value": Entry("attribute {attribute} of {operation} is {value}", "write {expected}"),
    "constant-range": Entry(
        "{what} is {value}, which {dtype} cannot hold",
        "write a number from {least} to {largest}, or use another dtype and cast",
    ),
    "operand-count": Entry("{operation} takes {expected} operands, not {count}", "its operands are: {names}"),
    "result-count": Entry(
        "{operation} has {expected} results, not {count}", "write one name before `=` for each result"
    ),
    "result-type": Entry(
        "the result is written as {written} but is {inferred}", "write `: {inferred}`, or leave the type out"
    ),
}

_MEMORY: dict[str, Entry] = {
    "region-rank": Entry(
        "the region has {count} ranges but {name} has {rank} axes", "write one `offset : extent` for each axis"
    ),
    "region-step": Entry("range {number} of the region has step 0", "use a step other than 0, for example 1"),
    "region-extent": Entry("range {number} of the region has extent {extent}", "an extent is 0 or more"),
    "region-bounds": Entry(
        "range {number} covers {first} to {last}, outside axis {number} of {name}, which has {extent} elements",
        "keep offset and offset + (extent - 1) * step below {extent} and not negative, or use `fill` or `clip`",
    ),
    "region-unproven": Entry(
        "range {number} covers {first} to {last}, which may leave axis {number} of {name} ({extent} elements): {why}",
        "write numbers for extents, bound the index with min and max, or load with `fill` and store with `clip`",
    ),
    "extent-unproven": Entry(
        "range {number} has extent {extent}, which may be negative", "write a number, or bound the extent with max"
    ),
    "index-size": Entry("{index} may be {first} or {last}, beyond 64 bits", "use smaller factors"),
    "stored-type": Entry("{value} is {type} but the region holds {expected}", "store a value of type {expected}"),
    "store-to-input": Entry(
        "{parameter} is stored to but is an input", "declare it `inout`, or behind the arrow as an output"
    ),
    "load-from-output": Entry(
        "{parameter} is an output and is read before anything is stored to it", "declare it `inout`, or store first"
    ),
    "scalar-parameter": Entry(
        "scalar parameter {parameter} is {what}",
        "a scalar is an input of shape (): write `{parameter}: scalar {dtype}`",
    ),
    "bad-extent": Entry(
        "extent {extent} of {name}", "an extent is a number from 0 to 2**63 - 1 or an expression of extents"
    ),
}

_CONTROL: dict[str, Entry] = {
    "loop-step": Entry("the loop has step {step}", "a step is a number of at least 1"),
    "loop-carried": Entry(
        "the loop carries {carried} values, starts with {initial}, yields {yielded} and has {results} results",
        "make the four numbers equal",
    ),
    "loop-type": Entry(
        "the loop carries {carried} of type {type} but {role} {value} is {other}",
        "carried, initial, yielded and result have one type",
    ),
    "branch-count": Entry(
        "the branches yield {then_count} and {else_count} values but there are {results} results",
        "yield one value for each result in both branches",
    ),
    "branch-type": Entry(
        "result {result} is {type} but the {branch} branch yields {other}", "yield a value of type {type}"
    ),
    "unknown-comparison": Entry("{comparison} is no comparison of indices", "write one of < <= == !="),
    "yield-outside": Entry("yield outside a loop or branch", "remove the line; a kernel's results are stored"),
    "yield-position": Entry("a statement follows yield", "make yield the last line of its body"),
}

_LEVELS: dict[str, Entry] = {
    "wrong-level": Entry(
        "{what} at level {level}",
        "{what} is allowed from level {needed} on; write `level {needed}` in the kernel's line",
    ),
    "mixed-levels": Entry(
        "kernels {first} and {second} are at levels {first_level} and {second_level}", "write one level for all kernels"
    ),
    "missing-buffer": Entry(
        "{value} has no buffer at level {level}", "write `{value} @buffer = ...` and declare the buffer"
    ),
    "unknown-buffer": Entry("kernel {kernel} has no buffer called {buffer}", "{hint}"),
    "duplicate-buffer": Entry("two buffers are called {buffer}", "give one of them another name"),
    "buffer-extent": Entry("extent {extent} of buffer {buffer} is no number", "write the number of elements"),
    "buffer-shape": Entry(
        "buffer {buffer} is {what}",
        "give it extents of 0 or more, a depth of 1, 2 or 3 and an on-chip memory (ub, l1, l0a, l0b, l0c)",
    ),
    "buffer-size": Entry(
        "{value} takes {needed} bytes but a slot of buffer {buffer} has {available}", "make the buffer's shape larger"
    ),
    "buffer-overwritten": Entry(
        "{value} is read from buffer {buffer} after {other} was put there", "give one of the two another buffer"
    ),
    "wrong-memory": Entry(
        "{value} lies in {space}, which this instruction does not reach", "keep it in a buffer of {allowed}"
    ),
    "cross-flag": Entry(
        "flag {id} between cube and vector cores {what}",
        "set_cross_flag and wait_cross_flag stand in pairs on every way through the kernel: what one kind of core "
        "counts up, the other waits for",
    ),
    "sub-blocks": Entry(
        "the loop over {index} is to run on the {count} vector cores beside a cube core",
        "write it as `for {index} = 0 to {count}`, with no carried values, or take {index} off `sub_blocks`",
    ),
    "fixpipe-use": Entry(
        "{value}: what `fixpipe` makes is for stores, and stores take from l0c only what it made",
        "write `%v @c = fixpipe %c {{...}}` and store %v, which nothing else reads",
    ),
    "buffer-changed": Entry(
        "{value} is in buffer {buffer} but {role} {other} is in {place}",
        "write one buffer for both, and `copy` the value into it first",
    ),
    "flag-id": Entry("flag id {id}", "use an id from 0 to {limit}"),
    "flag-pipes": Entry(
        "a flag from pipe {source} to pipe {destination}", "name two different pipes of S V M MTE1 MTE2 MTE3 FIX"
    ),
    "flag-raised": Entry(
        "{flag} is set again before anything waited for it: flags are binary", "wait for it first, or use another id"
    ),
    "flag-lowered": Entry("nothing has set {flag} when this line waits for it", "set it on every way that leads here"),
    "flag-leaked": Entry("{flag} is still set at the end of the kernel", "wait for it once, or remove what sets it"),
    "flag-loop": Entry(
        "the loop's body changes {flag}: it is {before} before a turn and {after} after it",
        "leave every flag as a turn found it",
    ),
    "barrier-id": Entry("barrier id {id}", "use an id from 0 to {limit}"),
    "barrier-participants": Entry(
        "barrier {id} has {participants} participants and the kernel {blocks} blocks",
        "write participants = {blocks}: every block of a kernel takes part in its barriers",
    ),
    "barrier-blocks": Entry(
        "{blocks} blocks cannot wait for each other: the chip runs {cores} at once",
        "give each block several tiles in a loop, so that there are at most {cores} blocks",
    ),
    "barrier-uneven": Entry(
        "how often {what} runs depends on the block ({symbol}), so that some blocks would wait for others for ever",
        "move the barrier out of the loop, or give the loop bounds that are equal in all blocks",
    ),
    "flag-branch": Entry(
        "{flag} is {then} after one branch and {other} after the other", "set or wait for it in both branches"
    ),
    "missing-address": Entry(
        "buffer {buffer} has no address at level planned", "write `address N` at the end of its line"
    ),
    "misaligned-address": Entry(
        "buffer {buffer} in {space} has address {address}", "use a multiple of {alignment} bytes"
    ),
    "over-capacity": Entry(
        "buffer {buffer} ends at byte {end} of {space}, which has {capacity} bytes",
        "use smaller tiles or a smaller depth",
    ),
    "buffer-overlap": Entry(
        "buffers {first} ({first_bytes}) and {second} ({second_bytes}) overlap in {space} while both are in use",
        "give one of them another address",
    ),
}

ENTRIES: dict[str, Entry] = {**_SYNTAX, **_NAMES, **_OPERATIONS, **_MEMORY, **_CONTROL, **_LEVELS}
