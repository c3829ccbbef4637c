"""LLVM's masked memory intrinsics. One lane is a vector of one there; registers of one lane are scalars here."""

from __future__ import annotations

from pypto.codegen.llvm.builder import FunctionBuilder, Register, element_suffix


def _as_vector(builder: FunctionBuilder, value: Register) -> str:
    """Return the operand, with its type, as a vector also when it is a scalar."""
    if value.lanes > 1:
        return value.typed
    type_ = f"<1 x {value.element}>"
    name = f"%{builder.fresh()}"
    builder.line(f"{name} = insertelement {type_} poison, {value.typed}, i64 0")
    return f"{type_} {name}"


def _from_vector(builder: FunctionBuilder, text: str, element: str, lanes: int) -> Register:
    result = builder.emit(text, element, lanes)
    if lanes > 1:
        return result
    return builder.emit(f"extractelement <1 x {element}> {result.text}, i64 0", element)


def _type(element: str, lanes: int) -> str:
    return f"<{lanes} x {element}>"


def masked_load(builder: FunctionBuilder, address: Register, mask: Register, fill: Register, align: int) -> Register:
    """Load consecutive elements where `mask` holds; the other lanes are `fill`, their memory is not touched."""
    type_, lanes = _type(fill.element, fill.lanes), fill.lanes
    name = f"llvm.masked.load.v{lanes}{element_suffix(fill.element)}.p0"
    builder.declarations.add(f"declare {type_} @{name}(ptr, i32 immarg, <{lanes} x i1>, {type_})")
    arguments = f"ptr {address.text}, i32 {align}, {_as_vector(builder, mask)}, {_as_vector(builder, fill)}"
    return _from_vector(builder, f"call {type_} @{name}({arguments})", fill.element, lanes)


def masked_store(builder: FunctionBuilder, value: Register, address: Register, mask: Register, align: int) -> None:
    """Store consecutive elements where `mask` holds."""
    type_, lanes = _type(value.element, value.lanes), value.lanes
    name = f"llvm.masked.store.v{lanes}{element_suffix(value.element)}.p0"
    builder.declarations.add(f"declare void @{name}({type_}, ptr, i32 immarg, <{lanes} x i1>)")
    stored, condition = _as_vector(builder, value), _as_vector(builder, mask)
    builder.line(f"call void @{name}({stored}, ptr {address.text}, i32 {align}, {condition})")


def gather(builder: FunctionBuilder, addresses: Register, mask: Register, fill: Register, align: int) -> Register:
    """Load one element from each address where `mask` holds; the other lanes are `fill`."""
    type_, lanes = _type(fill.element, fill.lanes), fill.lanes
    name = f"llvm.masked.gather.v{lanes}{element_suffix(fill.element)}.v{lanes}p0"
    builder.declarations.add(f"declare {type_} @{name}(<{lanes} x ptr>, i32 immarg, <{lanes} x i1>, {type_})")
    pointers, condition, rest = (_as_vector(builder, item) for item in (addresses, mask, fill))
    return _from_vector(
        builder, f"call {type_} @{name}({pointers}, i32 {align}, {condition}, {rest})", fill.element, lanes
    )


def scatter(builder: FunctionBuilder, value: Register, addresses: Register, mask: Register, align: int) -> None:
    """Store one element to each address where `mask` holds."""
    type_, lanes = _type(value.element, value.lanes), value.lanes
    name = f"llvm.masked.scatter.v{lanes}{element_suffix(value.element)}.v{lanes}p0"
    builder.declarations.add(f"declare void @{name}({type_}, <{lanes} x ptr>, i32 immarg, <{lanes} x i1>)")
    stored, pointers, condition = (_as_vector(builder, item) for item in (value, addresses, mask))
    builder.line(f"call void @{name}({stored}, {pointers}, i32 {align}, {condition})")
