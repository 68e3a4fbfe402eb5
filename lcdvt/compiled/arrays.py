"""numba's record of an array, written in few instructions where the array is contiguous and holds plain numbers.

The record has owners, sizes and strides beside the place of the numbers: nine entries for a table. It all follows from
place and shape where the array is contiguous, and nobody counts owners here; yet numba takes the record apart for every
call and puts it together again in the function that is called, and writes a view of an array in a hundred instructions.
That was a third of what kernels were made of.
"""

from collections.abc import Sequence
from typing import Any

from llvmlite.ir import Constant, IRBuilder, Undefined  # type: ignore[import-untyped]
from numba.core import types
from numba.core.datamodel.packer import ArgPacker

# Places of the record's entries.
_ITEMS, _DATA, _SHAPE, _STRIDES = 2, 4, 5, 6


def is_plain(kind: Any) -> bool:
    """Say whether a type is that of a contiguous array of numbers with at least one axis."""
    return (
        type(kind) is types.Array
        and kind.layout == "C"
        and kind.ndim > 0
        and isinstance(kind.dtype, types.Number | types.Boolean)
    )


def record(context: Any, builder: IRBuilder, kind: Any, data: Any, shape: Sequence[Any]) -> Any:
    """Return the record of a contiguous array that begins at `data`."""
    found, number = context.data_model_manager[kind].get_value_type(), shape[0].type
    size = _item_size(context, kind)
    owner, parent = (Constant(each, None) for each in found.elements[:_ITEMS])
    unknown = Constant(number, Undefined)
    constant = [
        owner, parent, unknown, size, Constant(found.elements[_DATA], Undefined),
        Constant(found.elements[_SHAPE], [unknown] * len(shape)),
        Constant(found.elements[_STRIDES], [*[unknown] * (len(shape) - 1), size]),
    ]  # fmt: skip
    value = builder.insert_value(Constant(found, constant), data, _DATA)
    items, stride = shape[-1], size
    for axis in reversed(range(len(shape))):
        value = builder.insert_value(value, shape[axis], (_SHAPE, axis))
        if axis > 0:
            stride = builder.mul(stride, shape[axis])
            items = builder.mul(items, shape[axis - 1])
            value = builder.insert_value(value, stride, (_STRIDES, axis - 1))
    return builder.insert_value(value, items, _ITEMS)


def data_and_shape(builder: IRBuilder, value: Any, axes: int) -> tuple[Any, list[Any]]:
    """Return where an array of so many axes begins, and its shape."""
    shape = [builder.extract_value(value, (_SHAPE, axis)) for axis in range(axes)]
    return builder.extract_value(value, _DATA), shape


def bounds_of_slice(builder: IRBuilder, bounds: Any, length: Any) -> tuple[Any, Any]:
    """Return where `i:j` begins in an array of some length, and how many numbers it has, as Python counts."""
    zero = length.type(0)

    def within(bound: Any) -> Any:
        from_end = builder.add(bound, length)
        place = builder.select(builder.icmp_signed("<", bound, zero), from_end, bound)
        place = builder.select(builder.icmp_signed("<", place, zero), zero, place)
        return builder.select(builder.icmp_signed(">", place, length), length, place)

    begin, end = (within(builder.extract_value(bounds, number)) for number in range(2))
    count = builder.sub(end, begin)
    return begin, builder.select(builder.icmp_signed("<", count, zero), zero, count)


class LeanPacker(ArgPacker):
    """Passes arguments as numba does, all entries of an array's record in the same order."""

    def __init__(self, context: Any, kinds: Any) -> None:
        super().__init__(context.data_model_manager, kinds)
        self._context = context

    def as_arguments(self, builder: IRBuilder, values: Sequence[Any]) -> tuple[Any, ...]:
        """Take the values apart."""
        flat: list[Any] = []
        for kind, model, value in zip(self._fe_args, self._dm_args, values, strict=True):
            if is_plain(kind):
                flat += self._entries(builder, kind, value)
            else:
                flat += _flattened(model.as_argument(builder, value))
        return tuple(flat)

    def from_arguments(self, builder: IRBuilder, args: Sequence[Any]) -> list[Any]:
        """Put the values together."""
        values = []
        for kind, model, given in zip(self._fe_args, self._dm_args, self._unflattener.unflatten(args), strict=True):
            if is_plain(kind):
                values.append(record(self._context, builder, kind, given[_DATA], given[_SHAPE]))
            else:
                values.append(model.from_argument(builder, given))
        return values

    def _entries(self, builder: IRBuilder, kind: Any, value: Any) -> list[Any]:
        owner, parent = (Constant(each, None) for each in value.type.elements[:_ITEMS])
        size = _item_size(self._context, kind)
        data, shape = data_and_shape(builder, value, kind.ndim)
        strides = [builder.extract_value(value, (_STRIDES, axis)) for axis in range(kind.ndim - 1)]
        items = shape[0] if kind.ndim == 1 else builder.extract_value(value, _ITEMS)
        return [owner, parent, items, size, data, *shape, *strides, size]


def _item_size(context: Any, kind: Any) -> Constant:
    return context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))


def _flattened(entries: Any) -> list[Any]:
    if not isinstance(entries, tuple | list):
        return [entries]
    return [each for entry in entries for each in _flattened(entry)]
