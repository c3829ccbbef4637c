"""Mistakes in the body of a tile function."""

from __future__ import annotations

from pypto.ir.base.catalogue.entry import Entry

_VALUES: dict[str, Entry] = {
    "broadcast-write": Entry(
        "the tile of shape {wide} shows one of shape {shape} with axes repeated; writing it would write elements twice",
        "write the smaller tile, or copy first: `wide = pypto.broadcast_to(x, shape) + 0`",
    ),
    "call-recursion": Entry(
        "{function} calls itself without end: a kernel has no stack, calls are copied into it",
        "write the repetition as `for i in pypto.loop(...)`, or as a Python loop over a fixed number of turns",
    ),
    "captured-array": Entry(
        "a NumPy array of shape {shape} is used in a tile function",
        "pass the array as an argument, or make a tile with `pypto.zeros`, `full`, `arange` or `eye`",
    ),
    "captured-tile": Entry(
        "a tile function that runs for each tile uses a tile of the function around it", "pass the tile as an argument"
    ),
    "attention-arguments": Entry(
        "scaled_dot_product_attention does not take {what}",
        "give query (.., queries, e), key (.., keys, e), value (.., keys, v), and a mask or is_causal; with enable_gqa "
        "the number of query heads is a multiple of that of key heads",
    ),
    "conv-arguments": Entry(
        "conv2d does not take {what}",
        "x is (n, c, h, w) or (c, h, w), weight (outputs, c / groups, p, q); stride, padding, dilation are numbers "
        "or pairs, groups divides channels and outputs",
    ),
    "dot-rank": Entry(
        "dot of tiles with {left} and {right} axes: NumPy's rule for more than two axes is not supported",
        "use `pypto.matmul`, or reshape to two axes",
    ),
    "matmul-scalar": Entry(
        "cannot multiply matrices of shapes {left} and {right}: one of them has no axis", "use `*` with a number"
    ),
    "cast-rounding": Entry(
        "rounding={rounding!r} does not go with a cast to {dtype}: it says how a float becomes an integer",
        "round first, `pypto.cast(pypto.floor(x), dtype)` for example, or leave `rounding` out for the nearest number",
    ),
    "math-function": Entry(
        "{function} needs a Python number, and a tile has none while the kernel is traced", "write {instead}(x)"
    ),
    "not-a-tile": Entry("{function} takes a tile, not {kind}", "pass a parameter or something computed from one"),
    "number-range": Entry(
        "{number} does not fit dtype {dtype} of the tile it is combined with",
        "use a smaller number, or cast the tile to a wider dtype first",
    ),
    "numpy-function": Entry("{function} does not work on tiles", "{instead}"),
    "numpy-keyword": Entry(
        "{function} on a tile does not take {keyword}", "leave the keyword out, or use the pypto function"
    ),
    "operand-kind": Entry(
        "{kind} cannot be combined with a tile", "use a tile, a Python number, a block id or a loop index"
    ),
    "outside-tile-function": Entry(
        "{what} is used outside a tile function", "use it in a function under @tile and run that with `pypto.compile`"
    ),
    "read-unwritten": Entry(
        "this reads elements of a local tile that nothing was written to",
        "write all of it first (`t[:] = ...`), or make it with `pypto.zeros(shape)`",
    ),
    "stale-tile": Entry(
        "a tile of another kernel, or of an earlier run of this one, is used here",
        "do not keep tiles in globals or closures; pass arrays as arguments",
    ),
    "tile-as-number": Entry(
        "{function}() of a tile: it has no number while the kernel is traced",
        "keep computing with the tile; `pypto.cast` changes its dtype, target='eager' shows its elements",
    ),
    "tile-to-array": Entry(
        "a tile cannot become a NumPy array: it has no elements while the kernel is traced",
        "use the functions of pypto, or np functions that take the tile itself",
    ),
    "rounding-mode": Entry("there is no rounding {rounding!r}", "use one of {allowed}"),
    "scalar-write": Entry(
        "{parameter} is a scalar argument and cannot be written", "pass an array with one element to get a result"
    ),
}

_CONTROL: dict[str, Entry] = {
    "generator-body": Entry(
        "{function} contains yield or await", "write results into output parameters (`out[:] = ...`)"
    ),
    "returned-value": Entry(
        "{function} returns a {value}; a tile function returns nothing",
        "write the result into an output parameter: `out[:] = ...`",
    ),
    "tile-and-or": Entry(
        "`and` and `or` need one truth value, a tile has one per element", "write `(a > 0) & (b > 0)`, or `|`"
    ),
    "tile-bool": Entry(
        "a tile is used as a condition, but it has one truth value per element and none while the kernel is traced",
        "choose elements with `pypto.where(condition, a, b)`, or code with `pypto.cond(predicate, then, otherwise)`",
    ),
    "tile-builtin": Entry(
        "Python's {function}() goes through elements one by one; a tile has none while the kernel is traced",
        "use `pypto.{function}(x, axis=...)`, or `pypto.maximum(a, b)` and `pypto.minimum(a, b)` of two tiles",
    ),
    "tile-chained": Entry(
        "a chained comparison needs one truth value, a tile has one per element", "write `(low < x) & (x < high)`"
    ),
    "tile-contains": Entry(
        "`in` needs one truth value, a tile has one per element", "compare and reduce: `pypto.max(x == value)`"
    ),
    "tile-iter": Entry(
        "a tile cannot be iterated over", "write `for i in pypto.loop(n):` and `x[i]`, or `range` to unroll"
    ),
    "tile-len": Entry("len() of a tile", "use `x.shape[0]`"),
    "tile-not": Entry("`not` needs one truth value, a tile has one per element", "write `~(x > 0)`"),
    "tile-while": Entry(
        "`while` needs one truth value, a tile has one per element",
        "write `for i in pypto.loop(n):` with `pypto.where` for elements that are done",
    ),
    "index-bool": Entry(
        "{what} is used as a Python condition, but it is known only when the kernel runs",
        "write `pypto.cond(i < n, then, otherwise)`, `pypto.where(i < n, a, b)`, or `pypto.minimum(i, n)` for min",
    ),
    "index-number": Entry(
        "a block id or loop index is used as a Python number, but it is known only when the kernel runs",
        "use it in slices and arithmetic, in `pypto.loop`, or unroll with `for i in range(n):`",
    ),
    "block-id": Entry(
        "this kernel has no blocks, so it has no block id",
        "write `@tile(shape=..., tile_num=N)` above the function that asks",
    ),
}

_OUTPUTS: dict[str, Entry] = {
    "assign-shape": Entry(
        "a value of shape {value} does not fit a target of shape {target}",
        "every axis of the value must be 1 or equal to the target's, counted from the last one: slice or reshape one "
        "of them; reductions keep their axis with `keepdims=True`",
    ),
    "hidden-output": Entry(
        "all {count} tiles would write the same elements of {parameter}",
        "give {parameter} an axis for the tiles, or write what does not depend on the tile",
    ),
    "in-place-dtype": Entry(
        "the result has dtype {value} and cannot be kept in a tile of dtype {target} in place",
        "write `t[:] = ...`, which converts, or `t = t op v`, which makes a new tile",
    ),
    "no-output": Entry(
        "{function} writes to none of its parameters", "write the result into one of them: `out[:] = ...`"
    ),
    "rebound-parameter": Entry(
        "{parameter} is bound to a new value that reaches no output; the argument itself stays unchanged",
        "write `{parameter}[:] = ...`",
    ),
}

_INDEXING: dict[str, Entry] = {
    "block-arguments": Entry(
        "block with offset {offset} and shape {shape} of a tile with {rank} axes",
        "give one offset (a number, block id or index) and one extent per axis",
    ),
    "extent-unknown": Entry(
        "the body needs the number behind extent {extent}, which is not known yet", "give `shapes=` to pypto.compile"
    ),
    "index-count": Entry(
        "{given} indices for a tile with {rank} axes", "give at most one index per axis and one `...`"
    ),
    "index-kind": Entry(
        "{kind} cannot be an index",
        "use whole numbers, slices, None, `...`, block ids and loop indices; of a tile of bools make a choice: "
        "`out[:] = pypto.where(mask, value, out)`",
    ),
    "index-range": Entry("index {index} is outside axis {axis} of extent {extent}", "{use}"),
    "slice-extent": Entry(
        "the slice from {start} to {stop} has no constant extent",
        "write `x[i:i + 64]` with a number for the extent, or `pypto.block(x, offset, shape)`",
    ),
    "slice-range": Entry(
        "elements {low} to {high} are used, outside axis {axis} of extent {extent}",
        "change the bounds, or use `pypto.block(x, offset, shape)`, which clips at the edge",
    ),
    "slice-step": Entry("{step} cannot be the step of a slice", "use a whole number other than 0"),
}

_SHAPES: dict[str, Entry] = {
    "axis-kind": Entry("{axis!r} is not an axis number", "use a whole number, several of them, or None for all"),
    "axis-range": Entry("axis {axis} of a tile with {rank} axes", "{use}"),
    "axis-twice": Entry("axes {axes} name one axis twice", "name each axis once"),
    "both-keywords": Entry("{first} and {second} are both given", "give one of them"),
    "concat-pieces": Entry("concat needs a list of tiles", "write `pypto.concat([a, b], axis=0)`"),
    "concat-shapes": Entry(
        "shapes {first} and {other} differ along an axis other than {axis}", "make the other axes equal"
    ),
    "gelu-form": Entry("there is no form {approximate!r} of gelu", 'use approximate="none" or approximate="tanh"'),
    "odd-halves": Entry(
        "axis {axis} of extent {extent} has no two halves", "give the two parts apart, or an axis of even known extent"
    ),
    "quantized-dtype": Entry("cannot quantize to {dtype}", 'use an integer dtype, for example dtype="int8"'),
    "norm-shape": Entry(
        "normalized_shape {given} is not the end of the shape {shape}", "give the extents of the last axes, or axes="
    ),
    "pad-widths": Entry(
        "{widths} are no widths for {rank} axes",
        "give one number, one pair (before, after), or one pair per axis; none negative",
    ),
    "shape-kind": Entry(
        "{shape} is not a shape: {item!r} is no extent", "use whole numbers of at least 0; reshape takes one -1"
    ),
    "no-such-dtype": Entry("there is no dtype {dtype!r}", "{hint}"),
    "function-keyword": Entry("there is no keyword {keyword!r} here", "{hint}"),
    "integer-power": Entry(
        "an integer tile to the power {exponent} is not an integer",
        "cast to a float first: `pypto.cast(x, 'float32') ** {exponent}`",
    ),
}

_LOOPS: dict[str, Entry] = {
    "cond-function": Entry("pypto.cond takes functions, not {kind}", "write `lambda: ...` or the name of a function"),
    "cond-index-result": Entry(
        "a side of a cond on a block id or loop index returns a value",
        "change a tile made before it in place: `t[:] = ...`",
    ),
    "cond-predicate": Entry(
        "pypto.cond on {predicate}", "use a comparison of block ids or indices, or a bool tile without axes"
    ),
    "cond-rebinding": Entry(
        "a side of pypto.cond binds {name} to a new tile, which would happen in both cases",
        "change it in place: `{name}[:] = ...`",
    ),
    "cond-results": Entry(
        "the sides of pypto.cond return {first} and {second}", "return the same from both: tiles, numbers or nothing"
    ),
    "loop-alias": Entry(
        "{name} is bound anew in a loop and shares elements with another tile, and one of the two is changed in place",
        "change {name} in place everywhere (`{name}[:] = ...`), or bind it to a copy (`{name} = other + 0`)",
    ),
    "loop-bound": Entry("{bound!r} is not a bound of pypto.loop", "use whole numbers, block ids or outer indices"),
    "loop-break": Entry(
        "the body of a pypto.loop is left by break, return or an exception; every turn has to run to its end",
        "use `pypto.where` or `pypto.cond` for turns that do nothing, or unroll with `for i in range(n):`",
    ),
    "loop-carried-type": Entry(
        "{name} is {before} before the loop and {after} after a turn; carried state keeps shape and dtype",
        "make it before the loop with the shape and dtype it ends with, and write `{name}[:] = ...`",
    ),
    "loop-difference": Entry(
        "the second turn of the loop does something else than the first: {first} first, then {second}",
        "one trace stands for all turns: keep state in tiles, not in Python numbers, lists or iterators, or unroll: "
        "`for i in range(n):`",
    ),
    "loop-direct": Entry(
        "pypto.loop has to stand directly in a for statement",
        "write `for i in pypto.loop(n):` without enumerate, zip or list",
    ),
    "loop-python-state": Entry(
        "the body of the loop changes {name}, which is not a tile: it would change once, not in every turn",
        "compute it from the loop index, keep it in a tile, or unroll with `for i in range(n):`",
    ),
    "loop-rebinding": Entry(
        "the loop binds {name} to a new tile, which cannot be carried without the source of this function",
        "change it in place: `{name}[:] = ...`",
    ),
    "loop-step-value": Entry("{step!r} is not a step of pypto.loop", "use a whole number of at least 1"),
    "loop-value": Entry("{what} is used after it", "make a tile before the loop and change it in place: `t[:] = ...`"),
}

_CALLS: dict[str, Entry] = {
    "call-arguments": Entry(
        "{function} is called with {given} arguments", "give its inputs ({inputs}), or its outputs ({outputs}) as well"
    ),
    "call-keyword": Entry("{function} takes no further argument {keyword!r} here", "{hint}"),
    "call-missing": Entry("{function} is called without {parameter}", "give every input; outputs may be left out"),
    "call-output": Entry(
        "{function} writes {parameter}, and {value} is no tile",
        "give a tile, or leave {parameter} out to get a new one",
    ),
    "call-outside": Entry(
        "{function} is a tile function and runs in a kernel only",
        "run it with `pypto.compile({function}).execute(...)`, or call it in another tile function",
    ),
    "fresh-number": Entry(
        "the first write to output {parameter} is a number, which has no shape",
        "give the output as an argument, or write a tile first (`pypto.full(shape, value)`)",
    ),
    "fresh-partial": Entry(
        "the first write to output {parameter} covers a part of it, so its shape is not known",
        "write all of it first (`{parameter}[:] = ...`), or give the output as an argument",
    ),
    "fresh-read": Entry(
        "output {parameter} is read before it is written, and no tile was given for it", "give it as an argument"
    ),
    "fresh-unwritten": Entry("{function} never writes its output {parameter}", "write `{parameter}[:] = ...` in it"),
}

ENTRIES: dict[str, Entry] = {**_VALUES, **_CONTROL, **_OUTPUTS, **_INDEXING, **_SHAPES, **_LOOPS, **_CALLS}
