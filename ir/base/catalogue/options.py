"""Mistakes in options and settings, and in what `compile` is asked for."""

from __future__ import annotations

from pypto.ir.base.catalogue.entry import Entry

ENTRIES: dict[str, Entry] = {
    "cannot-compile": Entry(
        "cannot compile {what}: it is not a tile function",
        "pass a function under `@pypto.tile` or `@pypto.fuse`, a list of them, a networkx graph of them, or a path "
        "ending in .pto",
    ),
    "cannot-pickle": Entry(
        "the compiled kernel {kernel!r} cannot be pickled: {why}",
        "define the tile function at the top level of an importable module, or compile it in the other process",
    ),
    "cannot-write": Entry("cannot write {path!r}: {why}", "give a path in a folder that you may write to"),
    "config-type": Entry(
        "config is of type {kind}", "pass a pypto.TileConfig, a pypto.BufferConfig or a dict of the same keys"
    ),
    "edited-kernel": Entry(
        "kernel {kernel!r}, which was not lowered as the compiler would, breaks rules of the hardware in {count} "
        "places: {first}",
        "correct what was edited, or lower from a text of level tile without replaced texts; `pypto check` lists them "
        "all",
    ),
    "file-import": Entry(
        "{file} raises {what}",
        "kernels are found by running the file without its `if __name__ == '__main__'` part; run it with python to "
        "see the whole traceback",
    ),
    "eager-needs-python": Entry(
        "{kernel!r} was read from PTO IR and has no Python body to run eagerly",
        "use target='reference' or target='cpu'",
    ),
    "later-option": Entry(
        "{what}: {option}={value!r} is not available in this version",
        "leave {option} out; the README lists what each version can do",
    ),
    "level-too-low": Entry(
        "target {target!r} takes PTO IR at level tile, and this module is at level {level}",
        "use target='reference', which runs every level, or read the text that `to_text('tile')` gives",
    ),
    "needs-device": Entry(
        "target 'npu' needs torch_npu and an Ascend device, and this machine has none: {why}",
        "use target='cpu' to run the kernel here, or target='ascendc' and `source()` to read its AscendC",
    ),
    "no-kernel": Entry(
        "{file} defines no tile function and no graph at its top level",
        "decorate a function with `@pypto.tile` or `@pypto.fuse`",
    ),
    "no-source": Entry(
        "target {target!r} generates no source", "compile with target='cpu' for LLVM IR or target='ascendc' for AscendC"
    ),
    "option-conflict": Entry("{first} and {second} contradict each other: {why}", "give one of the two"),
    "option-value": Entry("{what}: {option} is {value!r}", "{option} must be {wants}"),
    "override-dump": Entry(
        "PYPTO_DUMP and PYPTO_OVERRIDE are one folder, {folder!r}: the dump would overwrite what you edited",
        "copy the edited texts into another folder and give that to PYPTO_OVERRIDE",
    ),
    "override-folder": Entry(
        "PYPTO_OVERRIDE: cannot read {path!r}: {why}", "give a folder of texts that PYPTO_DUMP or `save` wrote"
    ),
    "override-level": Entry(
        "{file} is at level {given}, and the stage that it replaces gives level {wanted}",
        "write `level {wanted}` in the kernels' lines, or give the file the name of a stage of level {given}",
    ),
    "override-llvm": Entry("LLVM cannot read the text: {why}", "correct the line, or remove the file"),
    "override-parameters": Entry(
        "{file} has the parameters ({given}), and the stage that it replaces has ({wanted})",
        "use the parameters of the call; texts for arguments of other shapes go into a folder of their own",
    ),
    "override-symbol": Entry(
        "{file} defines no function {symbol}, which the kernel is called through",
        "keep the function's name and parameters as the dump has them",
    ),
    "override-twice": Entry(
        "PYPTO_OVERRIDE: {first} and {second} are both the text of stage {stage}", "remove one of the two"
    ),
    "kernel-file": Entry(
        "cannot read {path!r}: {why}", "name a kernel as FILE.py, FILE.py:name or FILE.pto; `check` takes AscendC too"
    ),
    "pto-file": Entry(
        "cannot read {path!r}: {why}", "give the path of a file that `CompiledKernel.save` or `to_text` wrote"
    ),
    "setting-value": Entry("{setting} is {value!r}, which is not {wanted}", "set {setting} to {wanted}"),
    "schedule-meaning": Entry(
        "config {option}={value} would change what {kernel!r} computes: its body runs once per tile, and the decorator "
        "gives {option}={declared}",
        "leave {option} out of the config, or change the decorator",
    ),
    "shape-option": Entry("{option}: {value!r} for parameter {parameter!r}", "give {wants}"),
    "shapes-needed": Entry(
        "the shapes of {parameters} are not known before the first call: {why}",
        "pass shapes={example} to pypto.compile (`--shape {first}=1024,512` to the command), or call execute with "
        "arguments first",
    ),
    "slot-too-small": Entry(
        "buffer_size_per_tile is {given} bytes, and the largest buffer of {kernel!r} needs {needed} bytes per slot "
        "({buffer})",
        "give at least {needed}, or a smaller tile",
    ),
    "unknown-kernel": Entry("{file} defines no tile function and no graph called {kernel!r}", "{hint}"),
    "unknown-parameter-option": Entry(
        "{option} names a parameter {parameter!r} that {kernel!r} does not have", "{hint}"
    ),
    "unknown-option": Entry("{what} has no option called {option!r}", "{hint}"),
    "unknown-setting": Entry("there is no setting called {setting!r}", "{hint}"),
    "unknown-stage-text": Entry("there is no stage called {stage!r} on target {target!r}", "{hint}"),
    "unknown-target": Entry("there is no target called {target!r}", "{hint}"),
}
