"""What a user is told of a mistake that only running finds."""

from __future__ import annotations

from pypto.ir.base.errors import UserError
from pypto.ir.base.locations import Location
from pypto.ir.operations.definition import IndexOutOfRange


def index_error(operation: str, wrap: bool, location: Location | None, mistake: IndexOutOfRange) -> UserError:
    """Return UserError ``index-out-of-range`` for an index that `operation` met."""
    extent = mistake.extent
    lowest = -extent if wrap else 0
    advice = f"give indices from {lowest} to {extent - 1}"
    if not wrap and -extent <= mistake.value < 0:
        advice += "; numbers below 0 count from the end in pypto.take only"
    position = mistake.position[0] if len(mistake.position) == 1 else mistake.position
    details = {"value": mistake.value, "position": position, "extent": extent, "operation": operation}
    return UserError("index-out-of-range", location, advice=advice, **details)
