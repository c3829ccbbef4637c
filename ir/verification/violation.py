"""What a broken rule is reported with."""

from __future__ import annotations

from pypto.ir.base.locations import UNKNOWN, Location
from pypto.ir.nodes import Buffer, GridAxis, Guard, Kernel, Parameter, Statement

Subject = Statement | Kernel | Parameter | Buffer | GridAxis | Guard | None


class Violation(Exception):
    """A rule of the IR that `subject` breaks: a catalogue entry's name and details.

    The verifier's front door turns it into a UserError (text from a file) or a VerificationError (IR made by a pass).
    """

    def __init__(self, name: str, subject: Subject, /, **details: object) -> None:
        super().__init__(name, details)
        self.name, self.subject, self.details = name, subject, details

    @property
    def location(self) -> Location:
        return self.subject.location if self.subject is not None else UNKNOWN
