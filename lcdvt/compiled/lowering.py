"""How a kernel's statements become instructions: loops over `range`, elements and pieces of arrays, in few of them.

numba writes a hundred instructions for each `for i in range(n)` and as many for a row or a slice, because it is ready
for any step and any kind of array. Kernels loop over plain ranges and contiguous arrays.
"""

from collections import defaultdict
from typing import Any, Final, NamedTuple

from llvmlite.ir import Function  # type: ignore[import-untyped]
from numba.core import ir, types
from numba.core.analysis import compute_cfg_from_blocks, compute_use_defs
from numba.core.callwrapper import PyCallWrapper
from numba.core.cgutils import alloca_once, unpack_tuple
from numba.core.lowering import Lower
from numba.np.arrayobj import load_item, store_item

from lcdvt.compiled.arrays import bounds_of_slice, data_and_shape, is_plain, record

# Its type leaves out what is used here.
_TUPLE: Final[Any] = types.BaseTuple
_LOOP_STEPS: Final = ("getiter", "iternext", "pair_first", "pair_second")


class _Loop(NamedTuple):
    """A loop over `range`, as far as it is written: its ends, where its number is kept, and what its head found."""

    start: Any
    stop: Any
    is_signed: bool
    place: Any = None
    number: Any = None
    goes_on: Any = None


class KernelLower(Lower):
    """Writes the code of one element of a contiguous array shorter than numba, which is ready for any kind of array.

    Only a literal index counts from the end where it is negative: a variable has to be the place itself, as it has to
    be smaller than the array's size. A loop may then begin anywhere and is SIMD all the same. Nobody counts who holds
    an array, nor looks at variables in a debugger, so that a variable is a place on the stack and no more.
    """

    def _find_singly_assigned_variable(self) -> None:
        """Find the variables that need no place on the stack: assigned once, and that before wherever they are used.

        numba takes only those for such that are used in no other block than that of their assignment.
        """
        blocks = self.func_ir.blocks
        assigned, used = defaultdict(list), defaultdict(list)
        for at, block in blocks.items():
            for each in block.body:
                if isinstance(each, ir.Assign):
                    assigned[each.target.name].append(at)
        for at, names in compute_use_defs(blocks).usemap.items():
            for name in names:
                used[name].append(at)
        before = compute_cfg_from_blocks(blocks).dominators()
        self._singly_assigned_vars = {
            name
            for name, (first, *others) in assigned.items()
            if not others and all(first < at and first in before[at] for at in used[name])
        }
        self._blk_local_varmap: dict[str, Any] = {}
        self._loops: dict[str, _Loop] = {}

    def lower_block(self, block: Any) -> None:
        """Write the statements of a block, none of which is within `try`."""
        self._cur_ir_block = block
        for each in block.body:
            self.loc = each.loc
            try:
                self.lower_inst(each)
            except Exception as error:
                error.add_note(f"compiling {each} at {each.loc}")
                raise

    def lower_inst(self, inst: Any) -> None:
        """Write a statement: most are assignments."""
        if isinstance(inst, ir.Assign):
            name = inst.target.name
            if not self._lower_loop(name, inst.value):
                self.storevar(self.lower_assign(self.typeof(name), inst), name)
        else:
            super().lower_inst(inst)

    def _lower_loop(self, name: str, value: Any) -> bool:
        """Write a step of a loop over `range(stop)` or `range(start, stop)`; say whether it is one.

        numba makes a range, an iterator and a pair of each number and whether it is one, all of them in memory, and
        looks whether the loop's step is zero: a hundred instructions, where six do the same.
        """
        kind, is_step = self.typeof(name), isinstance(value, ir.Expr) and value.op in _LOOP_STEPS
        if isinstance(kind, types.RangeType) and _is_call(value) and len(value.args) < 3:
            loop = self._range(value.args, kind.dtype)
        elif is_step or isinstance(value, ir.Var):
            before = self._loops.get(value.value.name if is_step else value.name)
            if before is None:
                return False
            if is_step and value.op.startswith("pair"):
                self.storevar(before.number if value.op == "pair_first" else before.goes_on, name)
                return True
            loop = self._next_step(before, value.op) if is_step else before
        else:
            return False
        if name not in self._singly_assigned_vars:
            raise NotImplementedError(
                f"{name} is one of several ranges: a range has to be looped over where it is made"
            )
        self._loops[name] = loop
        return True

    def _range(self, ends: Any, number: Any) -> _Loop:
        values = [
            self.context.cast(self.builder, self.loadvar(each.name), self.typeof(each.name), number) for each in ends
        ]
        start = values[0] if len(values) > 1 else self.context.get_constant(number, 0)
        return _Loop(start, values[-1], number.signed)

    def _next_step(self, loop: _Loop, step: str) -> _Loop:
        """Begin a loop at its first number, or look whether it goes on with the next."""
        if step == "getiter":
            place = alloca_once(self.builder, loop.start.type)
            self.builder.store(loop.start, place)
            return loop._replace(place=place)
        number = self.builder.load(loop.place)
        flags = ("nsw",) if loop.is_signed else ()
        self.builder.store(self.builder.add(number, number.type(1), flags=flags), loop.place)
        compare = self.builder.icmp_signed if loop.is_signed else self.builder.icmp_unsigned
        return loop._replace(number=number, goes_on=compare("<", number, loop.stop))

    def create_cpython_wrapper(self, release_gil: bool = False) -> None:
        """Write the way in from Python, which is not worth optimising: it looks at each argument once."""
        module = self.context.create_module("wrapper")
        kind = self.context.call_conv.get_function_type(self.fndesc.restype, self.fndesc.argtypes)
        called = Function(module, kind, self.fndesc.llvm_func_name)
        wrapper, _ = PyCallWrapper(
            self.context, module, called, self.fndesc, self.env, self.call_helper, release_gil
        ).build()
        wrapper.attributes.add("noinline")
        wrapper.attributes.add("optnone")
        self.library.add_ir_module(module)

    def alloca_lltype(self, name: str, lltype: Any, datamodel: Any = None) -> Any:
        """Return a new place on the stack."""
        return alloca_once(self.builder, lltype, name=name)

    def loadvar(self, name: str) -> Any:
        """Return the value of a variable."""
        value = self._blk_local_varmap.get(name)
        return self.builder.load(self.getvar(name)) if value is None else value

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Give a variable its value."""
        if name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
        else:
            self.builder.store(value, self.getvar(name))

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        """Write `a[i]`: an element, a row or a slice."""
        array = self.typeof(value.name)
        if is_plain(resty):
            view = self._view(value, array, index, resty)
            return super().lower_getitem(resty, expr, value, index, signature) if view is None else view
        place = self._place(value, array, index)
        if place is None:
            return super().lower_getitem(resty, expr, value, index, signature)
        element = load_item(self.context, self.builder, array, place)
        return self.context.cast(self.builder, element, array.dtype, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        """Write `a[i] = x` of an element."""
        array = self.typeof(target_var.name)
        place = self._place(target_var, array, index_var)
        if place is None:
            return super().lower_setitem(target_var, index_var, value_var, signature)
        given = self.loadvar(value_var.name)
        element = self.context.cast(self.builder, given, self.typeof(value_var.name), array.dtype)
        return store_item(self.context, self.builder, array, element, place)

    def _view(self, variable: Any, array: Any, index: Any, kind: Any) -> Any:
        """Return `a[i]` of a contiguous array with several axes, or `a[i:j]` of one with one axis; or None."""
        index_type = self.typeof(index.name)
        if isinstance(index_type, types.SliceType) and not index_type.has_step:
            is_view = is_plain(array) and array.ndim == kind.ndim == 1
        else:
            is_view = is_plain(array) and isinstance(index_type, types.Integer) and array.ndim == kind.ndim + 1
            is_view = is_view and not (isinstance(index_type, types.IntegerLiteral) and index_type.literal_value < 0)
        if not is_view:
            return None
        given = self.loadvar(index.name)
        data, shape = data_and_shape(self.builder, self.loadvar(variable.name), array.ndim)
        if array.ndim == 1:
            begin, length = bounds_of_slice(self.builder, given, shape[0])
            return record(self.context, self.builder, kind, self.builder.gep(data, [begin]), [length])
        place = self.context.cast(self.builder, given, index_type, types.intp)
        for size in shape[1:]:
            place = self.builder.mul(place, size)
        return record(self.context, self.builder, kind, self.builder.gep(data, [place]), shape[1:])

    def _place(self, variable: Any, array: Any, index: Any) -> Any:
        """Return the address of an element; None where it is not the element of a contiguous array."""
        if not isinstance(array, types.Array) or array.layout != "C":
            return None
        index_type, given = self.typeof(index.name), self.loadvar(index.name)
        if isinstance(index_type, _TUPLE):
            kinds, indices = index_type.types, unpack_tuple(self.builder, given, len(index_type))
        else:
            kinds, indices = (index_type,), (given,)
        if len(kinds) != array.ndim or not all(isinstance(each, types.Integer) for each in kinds):
            return None
        if any(isinstance(each, types.IntegerLiteral) and each.literal_value < 0 for each in kinds):
            return None
        value, model = self.loadvar(variable.name), self.context.data_model_manager[array]
        shape_field = model.get_field_position("shape")
        place = None
        for axis, (kind, each) in enumerate(zip(kinds, indices, strict=True)):
            step = self.context.cast(self.builder, each, kind, types.intp if kind.signed else types.uintp)
            if axis > 0:
                size = self.builder.extract_value(value, (shape_field, axis))
                step = self.builder.add(self.builder.mul(place, size), step)
            place = step
        return self.builder.gep(self.builder.extract_value(value, model.get_field_position("data")), [place])


class SmallLower(KernelLower):
    """Writes code that is to be small: no loop stands in it once for single numbers and once more for SIMD."""

    def setup_function(self, fndesc: Any) -> None:
        """Begin a function."""
        super().setup_function(fndesc)
        self.function.attributes.add("optsize")


class ApartLower(KernelLower):
    """Writes code that stands once, however often it is called: it is long where loops are SIMD."""

    def setup_function(self, fndesc: Any) -> None:
        """Begin a function."""
        super().setup_function(fndesc)
        self.function.attributes.add("noinline")


def _is_call(value: Any) -> bool:
    return isinstance(value, ir.Expr) and value.op == "call"
