"""Fit the polynomials of `codegen/llvm/math/coefficients.py` and print that file.

    python scripts/fit_polynomials.py > codegen/llvm/math/coefficients.py

Each is the minimax approximation (smallest largest weighted error, by Remez's exchange) of the function named beside
it, in 60-digit arithmetic with mpmath, then rounded to its element type. The errors in the comments are those before
rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from mpmath import mp, mpf

mp.dps = 60
Function = Callable[[Any], Any]


def alternation(error: Function, low: Any, high: Any, before: list[Any], samples: int = 1200) -> tuple[list[Any], Any]:
    """Return as many points as `before` where `error` is largest with alternating sign, and the largest magnitude."""
    count = len(before)
    grid = [low + (high - low) * (1 - mp.cos(mp.pi * k / samples)) / 2 for k in range(samples + 1)]
    points = sorted(grid + before)
    values = [error(point) for point in points]
    extrema: list[tuple[Any, Any]] = []
    for point, value in zip(points, values, strict=True):
        if extrema and (extrema[-1][1] > 0) == (value > 0):
            if abs(value) > abs(extrema[-1][1]):
                extrema[-1] = (point, value)
        else:
            extrema.append((point, value))
    while len(extrema) > count:
        extrema.pop(0 if abs(extrema[0][1]) < abs(extrema[-1][1]) else -1)
    return [point for point, _ in extrema], max(abs(value) for value in values)


def polynomial(function: Function, weight: Function, low: Any, high: Any, degree: int) -> tuple[list[Any], Any]:
    """Return coefficients (constant first) that minimise the largest weight(x) |p(x) - function(x)|, and that error."""
    low, high, count = mpf(low), mpf(high), degree + 2
    # Off centre, as a weight may vanish in the middle of the interval.
    points = [low + (high - low) * (1 - mp.cos(mp.pi * (k + mpf("0.41")) / count)) / 2 for k in range(count)]
    for _ in range(12):
        rows = [[weight(x) * x**k for k in range(degree + 1)] + [(-1) ** i] for i, x in enumerate(points)]
        solution = mp.lu_solve(mp.matrix(rows), mp.matrix([weight(x) * function(x) for x in points]))
        found = [solution[k] for k in range(degree + 1)]
        levelled = abs(solution[degree + 1])
        error = _weighted_error(found, function, weight)
        points, largest = alternation(error, low, high, points)
        if largest <= levelled * mpf("1.0005"):
            break
    return found, largest


def _weighted_error(found: list[Any], function: Function, weight: Function) -> Function:
    return lambda x: weight(x) * (mp.polyval(found[::-1], x) - function(x))


HALF_LOG2 = mp.log(2) / 2
TINY = mpf(10) ** -20


def exponential_tail(r: Any) -> Any:
    """(e^r - 1 - r) / r^2."""
    return (mp.expm1(r) - r) / r**2 if abs(r) > TINY else mpf(1) / 2


def logarithm_tail(f: Any) -> Any:
    """(log(1 + f) - f + f^2 / 2) / f^3."""
    return (mp.log1p(f) - f + f * f / 2) / f**3 if abs(f) > TINY else mpf(1) / 3


def area_tangent_tail(z: Any) -> Any:
    """(2 atanh(s) - 2 s) / s^3 with z = s^2."""
    s = mp.sqrt(z)
    return (2 * mp.atanh(s) - 2 * s) / s**3 if z > TINY else mpf(2) / 3


def error_exponent(m: Any) -> Any:
    """log(1 - erf(-m)) / m - 1."""
    return mp.log(mp.erfc(-m)) / m - 1


def power_of_two_tail(r: Any) -> Any:
    """(2^r - 1) / r."""
    return mp.expm1(r * mp.log(2)) / r if abs(r) > TINY else mp.log(2)


def odd_tail(function: Function, limit: Any) -> Function:
    """(f(t) - t) / t^3 as a function of z = t^2; `limit` is its value at 0."""

    def tail(z: Any) -> Any:
        t = mp.sqrt(z)
        return (function(t) - t) / t**3 if z > TINY else mpf(limit)

    return tail


def odd_weight(function: Function) -> Function:
    """Weight of an `odd_tail` for the relative error of f."""
    return lambda z: z * mp.sqrt(z) / function(mp.sqrt(z)) + TINY if z > TINY else TINY


def cosine_tail(z: Any) -> Any:
    """(cos(r) - 1 + r^2 / 2) / r^4 with z = r^2."""
    return (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2 if z > TINY else mpf(1) / 24


def complement_exponent(t: Any) -> Any:
    """log(erfc(a) / t) + a^2 with t = 2 / (2 + a)."""
    a = 2 / t - 2
    return mp.log(mp.erfc(a) / t) + a * a


def show(name: str, comment: str, coefficients: list[Any], single: bool) -> None:
    rounded = [float(np.float32(float(value))) if single else float(value) for value in coefficients]
    print(f"\n# {comment}")
    print(f"{name} = (")
    for value in rounded:
        print(f"    {value!r},")
    print(")")


def show_polynomial(name: str, text: str, single: bool, degree: int, fit: tuple[Function, Function, Any, Any]) -> None:
    found, error = polynomial(*fit, degree)
    show(name, f"{text}, relative error {float(error):.1e}", found, single)


def show_in_two_terms(name: str, spelled: str, value: Any) -> None:
    """A number in two terms, the first with few enough bits that its product with an exponent is exact."""
    print(f"\n# {spelled} in two terms; times any binary exponent the first is exact")
    for suffix, bits in (("F32", 9), ("F64", 32)):
        high = mp.nint(value * 2**bits) / 2**bits
        print(f"{name}_HIGH_{suffix}, {name}_LOW_{suffix} = {float(high)!r}, {float(value - high)!r}")


def main() -> None:
    print('"""Coefficients, constant term first; printed by scripts/fit_polynomials.py, which derives them."""')
    show_in_two_terms("LOG2", "log(2)", mp.log(2))
    reduced = (-HALF_LOG2, HALF_LOG2)
    exponential = (exponential_tail, lambda r: (r * r + TINY) / mp.exp(r), *reduced)
    less_one = (exponential_tail, lambda r: abs(r * r / mp.expm1(r)) + TINY if abs(r) > TINY else TINY, *reduced)
    text = "(e^r - 1 - r) / r^2 for |r| <= log(2) / 2, weighted for e^r"
    show_polynomial("EXP_F32", text, True, 4, exponential)
    show_polynomial("EXP_F64", text, False, 9, exponential)
    show_polynomial("EXPM1_F32", f"{text} - 1", True, 4, less_one)
    show_polynomial("EXPM1_F64", f"{text} - 1", False, 10, less_one)
    ends = (mp.sqrt(mpf(1) / 2) - 1, mp.sqrt(2) - 1)
    weight = lambda f: abs(f**3 / mp.log1p(f)) + TINY if abs(f) > TINY else TINY  # noqa: E731
    show_polynomial(
        "LOG_F32",
        "(log(1 + f) - f + f^2 / 2) / f^3 for 1 + f from sqrt(1/2) to sqrt(2)",
        True,
        6,
        (logarithm_tail, weight, *ends),
    )
    end = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2
    weight = lambda z: z / (1 + z) + TINY  # noqa: E731
    show_polynomial(
        "LOG_F64",
        "(2 atanh(s) - 2 s) / s^3 in z = s^2, s = f / (2 + f)",
        False,
        6,
        (area_tangent_tail, weight, mpf(0), end),
    )
    weight = lambda m: -m * mp.erfc(-m) / mp.erf(-m)  # noqa: E731
    for name, end, single, degree in (("ERF_F32", "3.93", True, 7), ("ERF_F64", "5.93", False, 22)):
        text = f"log(1 - erf(-m)) / m - 1 for -{end} <= m < 0, weighted for erf"
        show_polynomial(name, text, single, degree, (error_exponent, weight, -mpf(end), -(mpf(10) ** -15)))
    show_of_the_second_kind()


def in_parts(value: Any, bits: int, count: int) -> list[float]:
    """Return numbers of `bits` bits each whose sum is `value` cut off."""
    parts, scale = [], 0
    for _ in range(count):
        scale += bits
        part = mp.floor(value * mpf(2) ** scale) / mpf(2) ** scale
        parts.append(float(part))
        value -= part
    return parts


def show_numbers(name: str, comment: str, numbers: list[float]) -> None:
    print(f"\n# {comment}")
    print(f"{name} = (")
    for number in numbers:
        print(f"    {number!r},")
    print(")")


def show_parts_of_angles() -> None:
    """pi/2 for range reduction, and 2/pi to as many bits as the largest f32 needs."""
    rest, single = mp.pi / 2, []
    for _ in range(3):
        single.append(float(np.float32(float(rest))))
        rest -= mpf(single[-1])
    show_numbers("HALF_PI_F32", "pi/2 as a sum of f32 numbers", single)
    show_numbers("HALF_PI_PARTS", "pi/2 as a sum of numbers of 33 bits", in_parts(mp.pi / 2, 32, 3))
    show_numbers("TWO_OVER_PI_PARTS", "2/pi as a sum of numbers of 24 bits: 192 bits", in_parts(2 / mp.pi, 24, 8))


def show_of_the_second_kind() -> None:
    """Powers of two, trigonometric, hyperbolic and complementary error functions."""
    show_in_two_terms("LOG10_2", "log10(2)", mp.log10(2))
    weight = lambda r: abs(r) / 2**r + TINY  # noqa: E731
    ends = (-mpf(1) / 2, mpf(1) / 2)
    for name, single, degree in (("EXP2_F32", True, 5), ("EXP2_F64", False, 10)):
        show_polynomial(name, "(2^r - 1) / r for |r| <= 1/2", single, degree, (power_of_two_tail, weight, *ends))
    quarter = (mp.pi / 4 * mpf("1.001")) ** 2
    for name, text, function, limit, end, degree in (
        ("SIN_F32", "(sin(r) - r) / r^3 in z = r^2 for |r| <= pi/4", mp.sin, -mpf(1) / 6, quarter, 2),
        ("TAN_F32", "(tan(r) - r) / r^3 in z = r^2 for |r| <= pi/4", mp.tan, mpf(1) / 3, quarter, 5),
        ("ASIN_F32", "(asin(s) - s) / s^3 in z = s^2 for |s| <= 1/2", mp.asin, mpf(1) / 6, mpf(1) / 4, 4),
        ("ATAN_F32", "(atan(t) - t) / t^3 in z = t^2 for |t| <= 1", mp.atan, -mpf(1) / 3, mpf(1), 8),
        ("SINH_F32", "(sinh(x) - x) / x^3 in z = x^2 for |x| <= 1", mp.sinh, mpf(1) / 6, mpf(1), 3),
    ):
        fit = (odd_tail(function, limit), odd_weight(function), mpf(0), end)
        show_polynomial(name, text, True, degree, fit)
    weight = lambda z: z * z / mp.cos(mp.sqrt(z)) + TINY  # noqa: E731
    text = "(cos(r) - 1 + r^2 / 2) / r^4 in z = r^2 for |r| <= pi/4"
    show_polynomial("COS_F32", text, True, 2, (cosine_tail, weight, mpf(0), quarter))
    show_parts_of_angles()
    text = "log(erfc(a) / t) + a^2 in t = 2 / (2 + a) for 0 <= a <= 10.1, for f32 in double"
    fit = (complement_exponent, lambda t: mpf(1), 2 / mpf("12.1"), mpf(1))
    show_polynomial("ERFC", text, False, 11, fit)


if __name__ == "__main__":
    main()
