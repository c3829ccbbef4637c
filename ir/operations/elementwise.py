"""Records of the elementwise operations: functions, comparisons, choice, conversion."""

from __future__ import annotations

import numpy as np

from pypto.ir.dtypes import ALL
from pypto.ir.operations import functions, meanings, rules
from pypto.ir.operations.definition import Category, Cost, OperationDefinition
from pypto.ir.operations.records import BITS, FLOATS, INTEGERS, NUMBERS, ULP, VALUES, binary, comparison, unary


def functions_of_floats() -> tuple[OperationDefinition, ...]:
    """Functions of one value: f32 through float64, f64 by NumPy or the C library."""
    return tuple(
        unary(name, functions.through_double(meaning), Cost(flops, cycles), text)
        for name, meaning, flops, cycles, text in (
            ("exp", np.exp, 14, 2, "e to the power x"),
            ("exp2", np.exp2, 12, 4, "2 to the power x"),
            ("expm1", np.expm1, 18, 20, "exp(x) - 1, precise near 0"),
            ("log", np.log, 16, 2, "natural logarithm; NaN below 0, -inf at 0"),
            ("log2", np.log2, 18, 3, "logarithm to base 2"),
            ("log10", np.log10, 18, 3, "logarithm to base 10"),
            ("log1p", np.log1p, 22, 20, "log(1 + x), precise near 0"),
            ("rsqrt", functions.rsqrt, 6, 3, "1 / sqrt(x)"),
            ("cbrt", np.cbrt, 40, 30, "cube root, with the sign of x"),
            ("sin", np.sin, 16, 30, "sine of any angle in radians; NaN at infinity"),
            ("cos", np.cos, 16, 30, "cosine of any angle in radians; NaN at infinity"),
            ("tan", np.tan, 20, 40, "tangent of any angle in radians; NaN at infinity"),
            ("asin", np.arcsin, 16, 30, "arc sine; NaN beyond 1"),
            ("acos", np.arccos, 18, 30, "arc cosine; NaN beyond 1"),
            ("atan", np.arctan, 20, 30, "arc tangent"),
            ("sinh", np.sinh, 24, 20, "hyperbolic sine"),
            ("cosh", np.cosh, 20, 8, "hyperbolic cosine"),
            ("tanh", np.tanh, 20, 10, "hyperbolic tangent"),
            ("asinh", np.arcsinh, 40, 20, "inverse hyperbolic sine"),
            ("acosh", np.arccosh, 40, 12, "inverse hyperbolic cosine; NaN below 1"),
            ("atanh", np.arctanh, 40, 12, "inverse hyperbolic tangent; NaN beyond 1"),
            ("erf", functions.erf, 24, 20, "error function"),
            ("erfc", functions.erfc, 50, 30, "1 - erf(x), precise where it is small"),
            ("sigmoid", functions.sigmoid, 18, 6, "1 / (1 + exp(-x))"),
        )
    )


def roundings() -> tuple[OperationDefinition, ...]:
    """Functions that IEEE 754 defines to the last bit."""
    return (
        unary("sqrt", functions.through_double(np.sqrt), Cost(4, 2), "square root; NaN below 0", bound="0.5 ulp"),
        unary("reciprocal", functions.through_double(functions.reciprocal), Cost(4, 1), "1 / x", bound="0.5 ulp"),
        unary("floor", np.floor, Cost(1, 1), "the largest whole number not above x", bound="exact"),
        unary("ceil", np.ceil, Cost(1, 1), "the smallest whole number not below x", bound="exact"),
        unary("round", np.rint, Cost(1, 1), "the nearest whole number, ties to even", bound="exact"),
        unary("trunc", np.trunc, Cost(1, 1), "x without its fraction", bound="exact"),
        OperationDefinition(
            "signbit",
            ("x",),
            Category.ELEMENTWISE,
            rules.comparison,
            np.signbit,
            Cost(1, 3),
            "true for numbers with a minus sign, -0 too",
            FLOATS,
        ),
    )


RECORDS = (
    # functions of one value
    unary("neg", meanings.negate, Cost(1, 1), "-x; integers wrap", NUMBERS, "exact"),
    unary("abs", meanings.absolute, Cost(1, 1), "|x|; the smallest integer stays", NUMBERS, "exact"),
    unary("not", meanings.bitwise_not, Cost(1, 1), "~x: complement of the bits, or of a bool", BITS, "exact"),
    *functions_of_floats(),
    *roundings(),
    # functions of two values
    binary("add", meanings.add, Cost(1, 1), "x + y; integers wrap"),
    binary("sub", meanings.subtract, Cost(1, 1), "x - y; integers wrap"),
    binary("mul", meanings.multiply, Cost(1, 1), "x * y; integers wrap"),
    binary("div", meanings.divide, Cost(4, 2), "x / y of floats", FLOATS, "0.5 ulp"),
    binary("floor_div", meanings.floor_divide, Cost(8, 6), "floor of x / y; integers by 0 give 0, as NumPy's"),
    binary(
        "remainder", meanings.remainder, Cost(10, 8), "x - floor(x / y) * y, with the sign of y; integers by 0 give 0"
    ),
    binary(
        "fmod",
        functions.truncated_remainder,
        Cost(8, 8),
        "x - trunc(x / y) * y, exactly, with the sign of x; integers by 0 give 0",
    ),
    binary(
        "pow",
        functions.power,
        Cost(40, 40),
        "x to the power y; integers wrap, to negative powers 1, -1 or 0",
        bound=ULP,
    ),
    binary(
        "atan2",
        functions.through_double(np.arctan2),
        Cost(40, 40),
        "angle of the point with abscissa y and ordinate x",
        FLOATS,
        ULP,
    ),
    binary("hypot", functions.through_double(np.hypot), Cost(8, 8), "sqrt(x^2 + y^2) without overflow", FLOATS, ULP),
    binary("gcd", functions.greatest_common_divisor, Cost(60, 60), "greatest common divisor, not negative", INTEGERS),
    binary(
        "shift_left", functions.shift_left, Cost(3, 3), "x << y; 0 where y is negative or not below the width", INTEGERS
    ),
    binary(
        "shift_right",
        functions.shift_right,
        Cost(3, 3),
        "x >> y with the sign; only signs where y is negative or not below the width",
        INTEGERS,
    ),
    binary("maximum", meanings.maximum, Cost(1, 1), "the larger; NaN if either is NaN", VALUES),
    binary("minimum", meanings.minimum, Cost(1, 1), "the smaller; NaN if either is NaN", VALUES),
    binary("and", np.bitwise_and, Cost(1, 1), "x & y", BITS),
    binary("or", np.bitwise_or, Cost(1, 1), "x | y", BITS),
    binary("xor", np.bitwise_xor, Cost(1, 1), "x ^ y", BITS),
    # comparisons
    comparison("eq", np.equal, "x == y"),
    comparison("ne", np.not_equal, "x != y; true for NaN"),
    comparison("lt", np.less, "x < y"),
    comparison("le", np.less_equal, "x <= y"),
    comparison("gt", np.greater, "x > y"),
    comparison("ge", np.greater_equal, "x >= y"),
    # choice and conversion
    OperationDefinition(
        "where",
        ("condition", "x", "y"),
        Category.ELEMENTWISE,
        rules.where,
        np.where,
        Cost(1, 2),
        "x where the condition holds, else y",
        VALUES,
    ),
    OperationDefinition(
        "cast",
        ("x",),
        Category.ELEMENTWISE,
        rules.cast,
        meanings.cast,
        Cost(1, 1),
        "x in another dtype: floats round to nearest even, float to integer truncates and saturates (NaN gives 0)",
        ALL,
        attributes=("dtype",),
    ),
)
