"""Which pipe of the core runs a statement, and what memory it touches there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pypto.ir.nodes import For, If, Kernel, Load, Operation, Parameter, Pipe, Statement, Store, regions
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE
from pypto.ir.passes.forms import by_elements, is_alias, is_dense
from pypto.ir.passes.layout import row_multiple, stored_rank


@dataclass(frozen=True, slots=True)
class Access:
    """One touch of a memory: a buffer's name, or ``gm:`` and an array's."""

    pipe: Pipe
    resource: str
    write: bool


@dataclass(frozen=True, slots=True)
class Pipes:
    """Answers for the statements of one kernel at level *buffered* or below."""

    parameters: Mapping[str, Parameter]
    multiple: int

    @staticmethod
    def of(kernel: Kernel) -> Pipes:
        return Pipes({item.name: item for item in kernel.parameters}, row_multiple(kernel))

    def pipe(self, statement: Statement) -> Pipe | None:
        """Return the pipe that runs `statement`; None when no instruction touches memory for it."""
        if isinstance(statement, Load):
            if self.parameters[statement.source].scalar:
                return None
            shape = self.parameters[statement.source].type.shape
            dense = is_dense(statement.region, stored_rank(statement.result.shape), shape)
            return Pipe.MTE2 if dense else Pipe.S
        if isinstance(statement, Store):
            return Pipe.MTE3
        if isinstance(statement, Operation):
            return self.operation_pipe(statement)
        return None

    def operation_pipe(self, operation: Operation) -> Pipe | None:
        category = TABLE[operation.name].category
        if category is Category.SYNCHRONISATION or operation.name == "undefined":
            return None
        if operation.results[0].buffer is None or is_alias(operation, self.multiple):
            return None
        return Pipe.S if by_elements(operation, self.multiple) else Pipe.V

    def accesses(self, statement: Statement) -> frozenset[Access]:
        """Return all touches of `statement`, those of its regions included."""
        if isinstance(statement, For | If):
            inner = [self.accesses(item) for body in regions(statement) for item in body]
            return frozenset().union(*inner)
        pipe = self.pipe(statement)
        return frozenset() if pipe is None else frozenset(self._direct(statement, pipe))

    def _direct(self, statement: Statement, pipe: Pipe) -> Iterator[Access]:
        if isinstance(statement, Load):
            assert statement.result.buffer is not None
            yield Access(pipe, f"gm:{statement.source}", False)
            yield Access(pipe, statement.result.buffer, True)
        elif isinstance(statement, Store):
            assert statement.value.buffer is not None
            yield Access(pipe, statement.value.buffer, False)
            yield Access(pipe, f"gm:{statement.target}", True)
        elif isinstance(statement, Operation):
            yield from self._of_operation(statement, pipe)

    def _of_operation(self, operation: Operation, pipe: Pipe) -> Iterator[Access]:
        workspaces = [name == "workspace" for name in TABLE[operation.name].operands]
        for position, value in enumerate(operation.operands):
            if value.buffer is not None:
                yield Access(pipe, value.buffer, position < len(workspaces) and workspaces[position])
        for value in operation.results:
            assert value.buffer is not None
            yield Access(pipe, value.buffer, True)


def conflict(first: Access, second: Access) -> bool:
    return first.resource == second.resource and (first.write or second.write)
