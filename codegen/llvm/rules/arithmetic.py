"""Rules of one or a few instructions: arithmetic, comparisons, bits, choice."""

from __future__ import annotations

from pypto.codegen.llvm.builder import Register
from pypto.codegen.llvm.rules.context import Context, Rule


def floats_or_integers(float_operator: str, integer_operator: str) -> Rule:
    """One instruction, without flags: floats are IEEE's, integers wrap."""

    def rule(context: Context) -> Register:
        operator = float_operator if context.dtype.is_float else integer_operator
        return context.builder.binary(operator, context.x, context.y)

    return rule


def bits(operator: str) -> Rule:
    return lambda context: context.builder.binary(operator, context.x, context.y)


def comparison(float_predicate: str, integer_predicate: str) -> Rule:
    """`integer_predicate` without its sign (``lt``); bools and u8 compare unsigned."""

    def rule(context: Context) -> Register:
        if context.dtype.is_float:
            return context.builder.compare(f"fcmp {float_predicate}", context.x, context.y)
        signed = "s" if context.dtype.kind == "signed" else "u"
        predicate = integer_predicate if integer_predicate in ("eq", "ne") else signed + integer_predicate
        return context.builder.compare(f"icmp {predicate}", context.x, context.y)

    return rule


def negate(context: Context) -> Register:
    x = context.x
    if context.dtype.is_float:
        return context.builder.emit(f"fneg {x.typed}", x.element, x.lanes)
    return context.builder.binary("sub", context.number(0), x)


def absolute(context: Context) -> Register:
    """The smallest integer stays itself."""
    x, builder = context.x, context.builder
    if context.dtype.is_float:
        return builder.intrinsic("fabs", (x,), x.element, x.lanes)
    if context.dtype.kind == "unsigned":
        return x
    negative = builder.compare("icmp slt", x, context.number(0))
    return builder.select(negative, negate(context), x)


def complement(context: Context) -> Register:
    return context.builder.binary("xor", context.x, context.number(True if context.dtype.kind == "bool" else -1))


def extremum(float_predicate: str, integer_predicate: str, bool_operator: str) -> Rule:
    """maximum and minimum. NaN wins; of equal values (zeros of either sign) the second is taken, as NumPy does.

    The first choice is one instruction on x86, whose min and max return the second operand when either is NaN.
    """

    def rule(context: Context) -> Register:
        builder, x, y = context.builder, context.x, context.y
        if context.dtype.kind == "bool":
            return builder.binary(bool_operator, x, y)
        if not context.dtype.is_float:
            signed = "s" if context.dtype.kind == "signed" else "u"
            return builder.select(builder.compare(f"icmp {signed}{integer_predicate}", x, y), x, y)
        chosen = builder.select(builder.compare(f"fcmp {float_predicate}", x, y), x, y)
        return builder.select(builder.compare("fcmp uno", x, x), x, chosen)

    return rule


def where(context: Context) -> Register:
    return context.builder.select(*context.operands)
