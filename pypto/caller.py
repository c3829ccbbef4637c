"""Giving a mistake in a call its place: the line of the user's program that made the call."""

from __future__ import annotations

from types import TracebackType

from pypto.ir.base.errors import UserError


class PlacedAtCaller:
    """``with PLACED_AT_CALLER:`` raises a UserError without a place again, with the place of the user's call."""

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not isinstance(error, UserError) or error.location is not None:
            return
        from pypto.tracing.locations import Locator, user_frame

        if user_frame() is not None:
            raise UserError(error.name, Locator().here(), **error.details) from None


PLACED_AT_CALLER = PlacedAtCaller()
