"""Giving a mistake in a call its place: the line of the user's program that made the call."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from pypto.ir.base.errors import UserError
from pypto.ir.base.locations import Location


def _from_command_line() -> bool:
    """Return whether the `pypto` command made the call: then the words of the command are the user's, and have no
    line.
    """
    from pypto.tracing.locations import user_frame

    user, frame = user_frame(), sys._getframe(1)
    while frame is not user and frame.f_back is not None:
        if frame.f_globals.get("__package__") == "pypto" and _is_command(frame.f_code.co_filename):
            return True
        frame = frame.f_back
    return user is None


def _is_command(file: str) -> bool:
    """Return whether `file` is ``cli.py`` or one of the verbs beside it, ``cli_*.py``."""
    return os.path.basename(file).startswith("cli")


def called_at() -> Location | None:
    """Return the line of the user's program that is being run."""
    from pypto.tracing.locations import user_frame

    frame = user_frame()
    return None if frame is None else Location(frame.f_code.co_filename, frame.f_lineno)


@contextmanager
def placed_at(location: Location | None) -> Iterator[None]:
    """Raise a UserError without a place again, with the place `location`."""
    try:
        yield
    except UserError as error:
        if error.location is not None or location is None:
            raise
        raise UserError(error.name, location, **error.details) from None


class PlacedAtCaller:
    """``with PLACED_AT_CALLER:`` raises a UserError without a place again, with the place of the user's call."""

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not isinstance(error, UserError) or error.location is not None:
            return
        from pypto.tracing.locations import Locator

        if not _from_command_line():
            raise UserError(error.name, Locator().here(), **error.details) from None


PLACED_AT_CALLER = PlacedAtCaller()
