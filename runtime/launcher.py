"""Running a specialisation: one compiled module for one set of dtypes, shapes and strides.

    launcher = Launcher(code, library, written=("out",))
    launcher.run(arguments)                  # the general path: any arguments of this specialisation, read and
    checked before fast = launcher.fast_call(arguments)     # a native function for arguments that look exactly like
    these fast(x, y, out)                          # True: it ran; NotImplemented: something differs, take the general
    path

A caller that compiles kernels does, per call: ask the last `fast` function first; on NotImplemented bind and read the
arguments (`arguments.read`), check them (`arguments.check_output`, `overlap.check_aliases`), find or make the
launcher by dtype, shape and strides, `run`, and keep `fast_call(arguments)` for the next time. `fast` takes all
parameters by position, in the order of `arguments`. It compares types, dtypes, shapes, strides, flags, device,
constants and overlap itself, so nothing needs to be checked before it.

Concurrency. Several Python threads may use one launcher. The first call in flight uses the launcher's own slots,
intermediates and the shared working memory; others get their own for the time of the call. One call at a time uses
the worker threads, others run on the calling thread alone, with the same bits. A call that took less than 16 us keeps
the interpreter's lock from then on and stays on one thread; longer ones release it, use the threads, and are stopped
by Ctrl-C.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from pypto.codegen.llvm.code import CpuCode, Phase, SlotKind
from pypto.ir.base.errors import CompilerBug, UserError
from pypto.runtime.arguments import Argument, ArrayArgument, ConstantArgument, ScalarArgument, check_output, read
from pypto.runtime.memory import Block, arena, round_up
from pypto.runtime.native import native, plan, raw_fields_work
from pypto.runtime.overlap import check_aliases
from pypto.runtime.toolchain import Library

Fast = Callable[..., object]

SURELY_LONG = 1 << 20  # bytes of arguments from which even the first call uses all threads


class Mode(IntEnum):
    """How the next call runs; the native code changes UNKNOWN and LONG by the time that a call took."""

    SHORT = 0
    """One thread, interpreter's lock kept."""
    UNKNOWN = 1
    """One thread, lock released, Ctrl-C honoured."""
    LONG = 2
    """All threads, lock released, Ctrl-C honoured."""
    ALWAYS_LONG = 3
    """As LONG, whatever the time."""


class _Call(ctypes.Structure):
    """The structure Call of pool.ll."""

    _fields_ = [
        ("slots", ctypes.c_uint64),
        ("workspace", ctypes.c_uint64),
        ("scratch", ctypes.c_uint64),
        ("scratch_bytes", ctypes.c_uint64),
        ("phases", ctypes.c_uint64),
        ("phase_count", ctypes.c_uint64),
        ("threads", ctypes.c_int32),
        ("mode", ctypes.c_int32),
        ("stop", ctypes.c_uint64),
        ("own_stop", ctypes.c_int32),
        ("busy", ctypes.c_int32),
        ("deadline", ctypes.c_int64),
        ("thread_state", ctypes.c_uint64),
        ("main", ctypes.c_int32),
        ("failed", ctypes.c_int32),
        ("hook", ctypes.c_int32),
        ("participants", ctypes.c_int32),
        ("workspace_bytes", ctypes.c_uint64),
        ("nanoseconds", ctypes.c_int64),
        ("most_threads", ctypes.c_int32),
    ]


class Frame:
    """What one call in flight needs: the slot table, intermediates and the Call. `library` stays loaded as long
    as the frame lives.
    """

    def __init__(self, code: CpuCode, library: Library, mode: Mode) -> None:
        self.library = library
        self._slots = (
            ctypes.c_uint64 * (len(code.slots) + 1)
        )()  # the last one takes arguments that the code never uses
        self._phases = (ctypes.c_uint64 * (4 * len(code.phases)))(*_phase_words(code.phases, library))
        self._indices = {slot.name: index for index, slot in enumerate(code.slots)}
        self._intermediates = self._place_intermediates(code)
        self.call = _Call(
            slots=ctypes.addressof(self._slots),
            scratch_bytes=round_up(code.scratch_bytes),
            phases=ctypes.addressof(self._phases),
            phase_count=len(code.phases),
            threads=1,
            mode=mode,
            workspace_bytes=round_up(code.workspace_bytes),
            most_threads=code.threads,
        )
        self._status = [index for index, slot in enumerate(code.slots) if slot.kind is SlotKind.STATUS]
        self.address = ctypes.addressof(self.call)
        self.busy = self.address + _Call.busy.offset

    def place(self, name: str) -> int:
        """Return the address of the slot called `name`."""
        return ctypes.addressof(self._slots) + 8 * self._indices.get(name, len(self._indices))

    def fill(self, name: str, content: int) -> None:
        """Write a 64-bit number into a slot."""
        self._slots[self._indices.get(name, len(self._indices))] = content

    def clear_status(self) -> None:
        for index in self._status:
            self._slots[index] = 0

    def status(self) -> tuple[int, int, int] | None:
        """Return operation, place and index of the first mistake that the code met, or None."""
        if not self._status or not self._slots[self._status[1]]:
            return None
        site, place, index = (self._slots[item] for item in self._status[1:])
        return site, place, index - (1 << 64) if index >> 63 else index

    def _place_intermediates(self, code: CpuCode) -> Block:
        slots = [slot for slot in code.slots if slot.kind is SlotKind.INTERMEDIATE]
        block = Block(sum(round_up(slot.bytes) for slot in slots))
        address = block.address
        for slot in slots:
            self.fill(slot.name, address)
            address += round_up(slot.bytes)
        return block


def _phase_words(phases: Iterable[Phase], library: Library) -> Iterator[int]:
    for phase in phases:
        chunks = -(-phase.items // phase.grain)
        if chunks >= 1 << 31:
            raise CompilerBug("the launcher", f"{phase.symbol} has {chunks} chunks, more than fit 31 bits")
        yield from (library.address(phase.symbol), phase.items, phase.grain, chunks)


@dataclass(frozen=True, slots=True)
class Expected:
    """What a fast call was made for: `arguments` without their values, which outputs are written and what may
    share memory.
    """

    arguments: tuple[Argument, ...]
    written: frozenset[str]
    may_share: frozenset[tuple[str, str]]


class Launcher:
    """Runs one specialisation. See the module's text for how it is used."""

    def __init__(
        self,
        code: CpuCode,
        library: Library,
        written: Iterable[str],
        may_share: Iterable[tuple[str, str]] = (),
        *,
        raw_fields: bool = True,
        mode: Mode = Mode.UNKNOWN,
        mistake: Callable[[int, int, int], UserError] | None = None,
    ) -> None:
        """Prepare `code` as compiled in `library`.

        `written` names the parameters that it writes; `may_share` pairs (output, other) that may be the same elements
        of the same memory. `raw_fields=False` makes `fast_call` use Python and ctypes alone. `mode` is how the first
        call runs. `mistake` makes the error of a status that the code reports.
        """
        self._mistake = mistake
        self._checking = threading.Lock()
        self._checks = any(slot.kind is SlotKind.STATUS for slot in code.slots)
        self.written = frozenset(written)
        self.may_share = frozenset(may_share)
        self._code, self._library = code, library
        self._native, self._arena = native(), arena()
        self._raw_fields = raw_fields and raw_fields_work()
        self._frame = Frame(code, library, mode)
        self._scalars = {slot.name: slot.dtype for slot in code.slots if slot.kind is SlotKind.SCALAR}

    @property
    def nanoseconds(self) -> int:
        """How long the last call took that released the interpreter's lock; 0 before the first."""
        return int(self._frame.call.nanoseconds)

    @property
    def mode(self) -> Mode:
        """How the next call runs."""
        return Mode(self._frame.call.mode)

    def run(self, arguments: Sequence[Argument]) -> None:
        """Run on arguments that have been read and checked.

        Raises KeyboardInterrupt on Ctrl-C and UserError ``index-out-of-range`` (outputs are then partly written),
        UserError ``scalar-range``, MemoryError.
        """
        with self._own_frame() as frame:
            self._fill_slots(frame, arguments)
            self._choose_threads(frame.call, arguments)
            call = frame.call
            size = call.workspace_bytes + call.scratch_bytes * call.threads
            with self._arena.borrow(size) as memory:
                call.workspace, call.scratch = memory, memory + call.workspace_bytes
                frame.clear_status()
                try:
                    self._native.run(frame.address)
                finally:
                    self._mark_written(arguments)
                self._raise_mistake(frame)

    def _raise_mistake(self, frame: Frame) -> None:
        found = frame.status()
        if found is not None:
            assert self._mistake is not None, "code that checks indices needs a way to say what is wrong"
            raise self._mistake(*found)

    def fast_call(self, arguments: Sequence[Argument]) -> Fast:
        """Return a function over the parameters' values, in the order of `arguments`, for calls that look like this
        one.

        It returns True after it ran, or NotImplemented, having done nothing, when an argument differs in any way.
        """
        from pypto.runtime.fast import fast_function

        expected = Expected(tuple(arguments), self.written, self.may_share)
        made = fast_function(expected, self._frame, self._scalars) if self._raw_fields else None
        if made is not None and self._checks:
            return self._checked(made)
        return made or self._general_call(arguments)

    def _checked(self, fast: Fast) -> Fast:
        """Return a fast function that looks at the status afterwards.

        The launcher's own frame serves these alone, one at a time; a call beside it takes the general path.
        """
        frame, lock = self._frame, self._checking

        def call(*values: object) -> object:
            if not lock.acquire(blocking=False):
                return NotImplemented
            try:
                done, found = fast(*values), frame.status()
                if found is None:
                    return done
                frame.clear_status()
            except BaseException:
                frame.clear_status()
                raise
            finally:
                lock.release()
            assert self._mistake is not None
            raise self._mistake(*found)

        return call

    def _general_call(self, arguments: Sequence[Argument]) -> Fast:
        """Return the same by Python and ctypes."""
        names = [(item.name, isinstance(item, ConstantArgument)) for item in arguments]
        signature = [item.signature for item in arguments]

        def call(*values: object) -> object:
            if len(values) != len(names):
                return NotImplemented
            try:
                found = [
                    ConstantArgument(name, value) if constant else read(name, value)
                    for (name, constant), value in zip(names, values, strict=True)
                ]
                if [item.signature for item in found] != signature:
                    return NotImplemented
                self._check(found)
            except UserError:  # the general path finds it again and says where
                return NotImplemented
            self.run(found)
            return True

        return call

    def _check(self, arguments: Sequence[Argument]) -> None:
        for argument in arguments:
            if argument.name in self.written:
                check_output(argument)
            if isinstance(argument, ScalarArgument) and argument.name in self._scalars:
                argument.pack(self._scalars[argument.name])
        check_aliases(arguments, self.written, self.may_share)

    @contextlib.contextmanager
    def _own_frame(self) -> Iterator[Frame]:
        """Yield the launcher's frame, or another one while a call is using that."""
        if self._checks or not self._native.claim(self._frame.busy):
            yield Frame(self._code, self._library, Mode.LONG)
            return
        try:
            yield self._frame
        finally:
            self._native.release(self._frame.busy)

    def _fill_slots(self, frame: Frame, arguments: Sequence[Argument]) -> None:
        for argument in arguments:
            if isinstance(argument, ArrayArgument):
                frame.fill(argument.name, argument.address)
            elif isinstance(argument, ScalarArgument) and argument.name in self._scalars:
                packed = argument.pack(self._scalars[argument.name])
                frame.fill(argument.name, int.from_bytes(packed, sys.byteorder))

    def _choose_threads(self, call: _Call, arguments: Sequence[Argument]) -> None:
        if call.mode == Mode.UNKNOWN:
            arrays = (argument for argument in arguments if isinstance(argument, ArrayArgument))
            if sum(array.elements * array.dtype.bytes for array in arrays) >= SURELY_LONG:
                call.mode = Mode.LONG
        answer = plan()
        call.hook = answer >> 8
        call.threads = answer & 255 if call.mode in (Mode.LONG, Mode.ALWAYS_LONG) else 1

    def _mark_written(self, arguments: Sequence[Argument]) -> None:
        """Tell torch that outputs changed, so that autograd refuses values saved before."""
        tensors = [
            argument.value
            for argument in arguments
            if isinstance(argument, ArrayArgument) and argument.framework == "torch" and argument.name in self.written
        ]
        if tensors:
            from torch.autograd.graph import increment_version

            increment_version(tensor for tensor in tensors if not tensor.is_inference())
