"""Sorting in memory: keys as whole numbers in the order of their values, and the routines that order them.

A key is an unsigned number: bits of the value that compare like it, then its position. Keys are all different, so that
any way of sorting is stable. Few keys are sorted by insertion in short runs, which are merged pairwise (Knuth, TAOCP 3,
5.2.4), many by their digits of eight bits, the lowest first (5.2.5). For few of many the smallest ones seen so far are
kept in order.
"""

from __future__ import annotations

from dataclasses import dataclass

from pypto.codegen.llvm.builder import FunctionBuilder, Register, constant
from pypto.ir.dtypes import DType

FEW = 64
"""Most elements that are found by keeping the smallest ones."""


MANY = 200
"""Fewest elements that are sorted digit by digit."""


def is_few(wanted: int, extent: int) -> bool:
    return wanted <= FEW and extent >= 8 * wanted


@dataclass(frozen=True, slots=True)
class Code:
    """Keys of values of a dtype: `bits` for the value and as many for the position."""

    dtype: DType
    bits: int
    descending: bool

    @staticmethod
    def of(dtype: DType, descending: bool) -> Code:
        return Code(dtype, 64 if dtype.bits == 64 else 32, descending)

    @property
    def element(self) -> str:
        return f"i{2 * self.bits}"

    @property
    def words(self) -> int:
        """Words of 8 bytes of a key."""
        return self.bits // 32

    @property
    def names(self) -> dict[str, str]:
        """What the placeholders in the routines stand for: the digits of the value begin at bit FIRST of a word."""
        wide = self.bits == 64
        return {"TYPE": self.element, "STRIDE": str(self.words), "HIGH": str(int(wide)), "FIRST": "0" if wide else "32"}

    def encode(self, builder: FunctionBuilder, value: Register, position: Register) -> Register:
        """Return the key of a value at a position."""
        ordered = self._ordered(builder, value)
        if self.descending:
            ordered = builder.binary("xor", ordered, constant(-1, f"i{self.bits}"))
        high = builder.binary("shl", builder.convert("zext", ordered, self.element), constant(self.bits, self.element))
        low = position if self.element == "i64" else builder.convert("zext", position, self.element)
        return builder.binary("or", high, low)

    def position(self, builder: FunctionBuilder, key: Register) -> Register:
        if self.bits == 64:
            return builder.convert("trunc", key, "i64")
        return builder.binary("and", key, constant((1 << 32) - 1, "i64"))

    def _ordered(self, builder: FunctionBuilder, value: Register) -> Register:
        """Return the value as an unsigned number of `bits` that compares alike."""
        integer = f"i{self.bits}"
        sign = constant(-(1 << (self.bits - 1)), integer)
        if self.dtype.is_float:
            return self._of_float(builder, value, sign)
        if self.dtype.kind != "signed":
            return builder.convert("zext", value, integer)
        wide = value if self.dtype.bits == self.bits else builder.convert("sext", value, integer)
        return builder.binary("xor", wide, sign)

    def _of_float(self, builder: FunctionBuilder, value: Register, sign: Register) -> Register:
        """Negative numbers have all bits inverted, others the sign; both zeros are one, every NaN is the largest."""
        number = builder.binary("fadd", value, constant(0.0, value.element))
        bits = builder.convert("bitcast", number, sign.element)
        spread = builder.binary("ashr", bits, constant(self.bits - 1, sign.element))
        ordered = builder.binary("xor", bits, builder.binary("or", spread, sign))
        unknown = builder.compare("fcmp uno", value, value)
        return builder.select(unknown, constant(-1, sign.element), ordered)


def sort(builder: FunctionBuilder, code: Code, data: Register, other: Register, count: int) -> None:
    """Sort `count` keys at `data`; `other` is memory for as many."""
    name, text = ("sort", _SORT) if count < MANY else ("radix", _RADIX)
    for key, value in code.names.items():
        text = text.replace(key, value)
    builder.declarations.add(text)
    builder.line(f"call void @pypto_{name}_{code.element}({data.typed}, {other.typed}, i64 {count})")


def select_smallest(
    builder: FunctionBuilder, code: Code, data: Register, count: int, best: Register, wanted: int
) -> None:
    """Put the `wanted` smallest of `count` keys at `data` in order at `best`."""
    builder.declarations.add(_SMALLEST.replace("TYPE", code.element))
    name = f"pypto_smallest_{code.element}"
    builder.line(f"call void @{name}({data.typed}, i64 {count}, {best.typed}, i64 {wanted})")


_SORT = """define internal void @pypto_sort_TYPE(ptr %data, ptr %other, i64 %count) nounwind {
entry:
  br label %runs
runs:
  %start = phi i64 [ 0, %entry ], [ %end, %run_done ]
  %more = icmp ult i64 %start, %count
  br i1 %more, label %run, label %merging
run:
  %limit = add i64 %start, 16
  %short = icmp ult i64 %limit, %count
  %end = select i1 %short, i64 %limit, i64 %count
  %second = add i64 %start, 1
  br label %insert
insert:
  %i = phi i64 [ %second, %run ], [ %following, %placed ]
  %inside = icmp ult i64 %i, %end
  br i1 %inside, label %take, label %run_done
take:
  %taken = getelementptr TYPE, ptr %data, i64 %i
  %value = load TYPE, ptr %taken, align 8
  br label %shift
shift:
  %j = phi i64 [ %i, %take ], [ %lower, %move ]
  %first = icmp eq i64 %j, %start
  br i1 %first, label %placed, label %look
look:
  %lower = sub i64 %j, 1
  %below = getelementptr TYPE, ptr %data, i64 %lower
  %smaller = load TYPE, ptr %below, align 8
  %greater = icmp ugt TYPE %smaller, %value
  br i1 %greater, label %move, label %placed
move:
  %hole = getelementptr TYPE, ptr %data, i64 %j
  store TYPE %smaller, ptr %hole, align 8
  br label %shift
placed:
  %place = getelementptr TYPE, ptr %data, i64 %j
  store TYPE %value, ptr %place, align 8
  %following = add i64 %i, 1
  br label %insert
run_done:
  br label %runs
merging:
  br label %pass
pass:
  %width = phi i64 [ 16, %merging ], [ %doubled, %pass_done ]
  %source = phi ptr [ %data, %merging ], [ %target, %pass_done ]
  %target = phi ptr [ %other, %merging ], [ %source, %pass_done ]
  %sorted = icmp uge i64 %width, %count
  br i1 %sorted, label %finish, label %pairs
pairs:
  %left = phi i64 [ 0, %pass ], [ %stop, %pair_done ]
  %again = icmp ult i64 %left, %count
  br i1 %again, label %bounds, label %pass_done
bounds:
  %near = add i64 %left, %width
  %near_inside = icmp ult i64 %near, %count
  %middle = select i1 %near_inside, i64 %near, i64 %count
  %far = add i64 %middle, %width
  %far_inside = icmp ult i64 %far, %count
  %stop = select i1 %far_inside, i64 %far, i64 %count
  br label %step
step:
  %a = phi i64 [ %left, %bounds ], [ %a_next, %choose ]
  %b = phi i64 [ %middle, %bounds ], [ %b_next, %choose ]
  %o = phi i64 [ %left, %bounds ], [ %o_next, %choose ]
  %a_left = icmp ult i64 %a, %middle
  %b_left = icmp ult i64 %b, %stop
  %both = and i1 %a_left, %b_left
  br i1 %both, label %choose, label %rest
choose:
  %a_at = getelementptr TYPE, ptr %source, i64 %a
  %b_at = getelementptr TYPE, ptr %source, i64 %b
  %a_key = load TYPE, ptr %a_at, align 8
  %b_key = load TYPE, ptr %b_at, align 8
  %takes_a = icmp ult TYPE %a_key, %b_key
  %chosen = select i1 %takes_a, TYPE %a_key, TYPE %b_key
  %o_at = getelementptr TYPE, ptr %target, i64 %o
  store TYPE %chosen, ptr %o_at, align 8
  %a_step = zext i1 %takes_a to i64
  %b_step = sub i64 1, %a_step
  %a_next = add i64 %a, %a_step
  %b_next = add i64 %b, %b_step
  %o_next = add i64 %o, 1
  br label %step
rest:
  %from = select i1 %a_left, i64 %a, i64 %b
  %until = select i1 %a_left, i64 %middle, i64 %stop
  br label %copy
copy:
  %c = phi i64 [ %from, %rest ], [ %c_next, %copy_one ]
  %d = phi i64 [ %o, %rest ], [ %d_next, %copy_one ]
  %copying = icmp ult i64 %c, %until
  br i1 %copying, label %copy_one, label %pair_done
copy_one:
  %c_at = getelementptr TYPE, ptr %source, i64 %c
  %d_at = getelementptr TYPE, ptr %target, i64 %d
  %copied = load TYPE, ptr %c_at, align 8
  store TYPE %copied, ptr %d_at, align 8
  %c_next = add i64 %c, 1
  %d_next = add i64 %d, 1
  br label %copy
pair_done:
  br label %pairs
pass_done:
  %doubled = shl i64 %width, 1
  br label %pass
finish:
  %home = icmp eq ptr %source, %data
  br i1 %home, label %done, label %back
back:
  %k = phi i64 [ 0, %finish ], [ %k_next, %back_one ]
  %going = icmp ult i64 %k, %count
  br i1 %going, label %back_one, label %done
back_one:
  %k_from = getelementptr TYPE, ptr %source, i64 %k
  %k_to = getelementptr TYPE, ptr %data, i64 %k
  %k_key = load TYPE, ptr %k_from, align 8
  store TYPE %k_key, ptr %k_to, align 8
  %k_next = add i64 %k, 1
  br label %back
done:
  ret void
}"""

_RADIX = """define internal void @pypto_radix_TYPE(ptr %data, ptr %other, i64 %count) nounwind {
entry:
  %counts = alloca [256 x i64], align 64
  br label %pass
pass:
  %shift = phi i64 [ FIRST, %entry ], [ %shift_next, %pass_end ]
  %source = phi ptr [ %data, %entry ], [ %source_next, %pass_end ]
  %target = phi ptr [ %other, %entry ], [ %target_next, %pass_end ]
  %finished = icmp uge i64 %shift, 64
  br i1 %finished, label %finish, label %clear
clear:
  %z = phi i64 [ 0, %pass ], [ %z_next, %clear ]
  %z_at = getelementptr i64, ptr %counts, i64 %z
  store i64 0, ptr %z_at, align 8
  %z_next = add i64 %z, 1
  %clearing = icmp ult i64 %z_next, 256
  br i1 %clearing, label %clear, label %counting
counting:
  %i = phi i64 [ 0, %clear ], [ %i_next, %counting ]
  %i_word = mul i64 %i, STRIDE
  %i_high = add i64 %i_word, HIGH
  %i_at = getelementptr i64, ptr %source, i64 %i_high
  %i_key = load i64, ptr %i_at, align 8
  %i_moved = lshr i64 %i_key, %shift
  %i_digit = and i64 %i_moved, 255
  %i_count_at = getelementptr i64, ptr %counts, i64 %i_digit
  %i_count = load i64, ptr %i_count_at, align 8
  %i_more = add i64 %i_count, 1
  store i64 %i_more, ptr %i_count_at, align 8
  %i_next = add i64 %i, 1
  %counted = icmp ult i64 %i_next, %count
  br i1 %counted, label %counting, label %check
check:
  %all_alike = icmp eq i64 %i_more, %count
  br i1 %all_alike, label %pass_end, label %sum
sum:
  %d = phi i64 [ 0, %check ], [ %d_next, %sum ]
  %total = phi i64 [ 0, %check ], [ %total_next, %sum ]
  %d_at = getelementptr i64, ptr %counts, i64 %d
  %d_count = load i64, ptr %d_at, align 8
  store i64 %total, ptr %d_at, align 8
  %total_next = add i64 %total, %d_count
  %d_next = add i64 %d, 1
  %summing = icmp ult i64 %d_next, 256
  br i1 %summing, label %sum, label %moving
moving:
  %m = phi i64 [ 0, %sum ], [ %m_next, %moving ]
  %m_word = mul i64 %m, STRIDE
  %m_high = add i64 %m_word, HIGH
  %m_at = getelementptr i64, ptr %source, i64 %m_high
  %m_key = load i64, ptr %m_at, align 8
  %m_moved = lshr i64 %m_key, %shift
  %m_digit = and i64 %m_moved, 255
  %m_count_at = getelementptr i64, ptr %counts, i64 %m_digit
  %m_place = load i64, ptr %m_count_at, align 8
  %m_after = add i64 %m_place, 1
  store i64 %m_after, ptr %m_count_at, align 8
  %m_from = getelementptr TYPE, ptr %source, i64 %m
  %m_all = load TYPE, ptr %m_from, align 8
  %m_to = getelementptr TYPE, ptr %target, i64 %m_place
  store TYPE %m_all, ptr %m_to, align 8
  %m_next = add i64 %m, 1
  %to_move = icmp ult i64 %m_next, %count
  br i1 %to_move, label %moving, label %pass_end
pass_end:
  %source_next = phi ptr [ %source, %check ], [ %target, %moving ]
  %target_next = phi ptr [ %target, %check ], [ %source, %moving ]
  %shift_next = add i64 %shift, 8
  br label %pass
finish:
  %home = icmp eq ptr %source, %data
  br i1 %home, label %done, label %back
back:
  %k = phi i64 [ 0, %finish ], [ %k_next, %back_one ]
  %going = icmp ult i64 %k, %count
  br i1 %going, label %back_one, label %done
back_one:
  %k_from = getelementptr TYPE, ptr %source, i64 %k
  %k_to = getelementptr TYPE, ptr %data, i64 %k
  %k_key = load TYPE, ptr %k_from, align 8
  store TYPE %k_key, ptr %k_to, align 8
  %k_next = add i64 %k, 1
  br label %back
done:
  ret void
}"""
"""Words are of 8 bytes, the lowest first, as on every machine that this target is made for."""

_SMALLEST = """define internal void @pypto_smallest_TYPE(ptr %data, i64 %count, ptr %best, i64 %wanted) nounwind {
entry:
  %last = sub i64 %wanted, 1
  br label %clear
clear:
  %z = phi i64 [ 0, %entry ], [ %z_next, %clear_one ]
  %clearing = icmp ult i64 %z, %wanted
  br i1 %clearing, label %clear_one, label %start
clear_one:
  %z_at = getelementptr TYPE, ptr %best, i64 %z
  store TYPE -1, ptr %z_at, align 8
  %z_next = add i64 %z, 1
  br label %clear
start:
  %last_at = getelementptr TYPE, ptr %best, i64 %last
  br label %look
look:
  %i = phi i64 [ 0, %start ], [ %i_next, %skip ]
  %worst = phi TYPE [ -1, %start ], [ %worst_now, %skip ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %compare, label %done
compare:
  %at = getelementptr TYPE, ptr %data, i64 %i
  %value = load TYPE, ptr %at, align 8
  %better = icmp ult TYPE %value, %worst
  br i1 %better, label %shift, label %skip
shift:
  %j = phi i64 [ %last, %compare ], [ %lower, %move ]
  %first = icmp eq i64 %j, 0
  br i1 %first, label %placed, label %below
below:
  %lower = sub i64 %j, 1
  %below_at = getelementptr TYPE, ptr %best, i64 %lower
  %smaller = load TYPE, ptr %below_at, align 8
  %greater = icmp ugt TYPE %smaller, %value
  br i1 %greater, label %move, label %placed
move:
  %hole = getelementptr TYPE, ptr %best, i64 %j
  store TYPE %smaller, ptr %hole, align 8
  br label %shift
placed:
  %place = getelementptr TYPE, ptr %best, i64 %j
  store TYPE %value, ptr %place, align 8
  %now = load TYPE, ptr %last_at, align 8
  br label %skip
skip:
  %worst_now = phi TYPE [ %worst, %compare ], [ %now, %placed ]
  %i_next = add i64 %i, 1
  br label %look
done:
  ret void
}"""
