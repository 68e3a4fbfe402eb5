"""A shorter way through numba's compiler, for kernels that are loops over arrays.

numba's own way is made for any Python function: it looks for closures, array expressions and lists to rewrite, and for
the last use of every variable, to count who holds an array; it finds the types of every single addition anew, optimises
twice, and makes machine code of each function that a kernel calls, although it is then compiled a second time within
the kernel. Kernels have none of these things and need none of this. The steps that are left are numba's own, in its own
order, so that the same program comes out; `benchmarks/start.py --functions` prints what each function costs.

These are numba's inner parts, which another version may have changed: `kernel.py` lists the versions it was tried with,
and leaves all others their own way.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final, NamedTuple

from llvmlite.binding import create_pass_builder, create_pipeline_tuning_options  # type: ignore[import-untyped]
from llvmlite.ir import Function  # type: ignore[import-untyped]
from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import ir, typed_passes, types, untyped_passes
from numba.core.analysis import compute_cfg_from_blocks, compute_use_defs
from numba.core.callwrapper import PyCallWrapper
from numba.core.cgutils import alloca_once, unpack_tuple
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.errors import TypingError
from numba.core.interpreter import Interpreter
from numba.core.ir_utils import build_definitions
from numba.core.lowering import Lower
from numba.core.rewrites.registry import rewrite_registry
from numba.core.runtime import rtsys
from numba.core.transforms import canonicalize_cfg
from numba.core.typeinfer import CallConstraint, ConstraintNetwork
from numba.np.arrayobj import load_item, store_item

from lcdvt.compiled.arrays import LeanPacker, bounds_of_slice, data_and_shape, is_plain, record
from lcdvt.compiled.collecting import no_collecting

# Their types leave out what is used here.
_TUPLE: Final[Any] = types.BaseTuple
_OPERATION: Final[Any] = types.BaseFunction
_RULES: Final[Any] = ConstraintNetwork
# The types of operations that were found, for functions of the same options.
_FOUND: Final[dict[str, dict[Any, Any]]] = {}
# What is asked for again and again: arithmetic, comparisons and elements of arrays.
_PLAIN_TYPES: Final = (types.Number, types.Boolean, types.Array, types.BaseTuple, types.SliceType)


class _Library(JITCodeLibrary):
    """The code of a kernel: optimised once, as a whole."""

    def _optimize_functions(self, ll_module: Any) -> None:
        # numba goes over each function alone before it optimises all of them together.
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        # numba goes over it twice, to find who holds an array no longer: nobody holds any here.
        options = create_pipeline_tuning_options(speed_level=2)
        options.slp_vectorization, options.loop_unrolling = False, False
        builder = create_pass_builder(self._codegen._tm, options)
        builder.getModulePassManager().run(self._final_module, builder)

    def finalize(self) -> None:
        """Link all parts, also those that parts call, and make machine code."""
        linked = _with_their_own(self._linking_libraries)
        self._linking_libraries = [
            each for each in linked if not isinstance(each, _PartLibrary) and each is not rtsys.library
        ]
        self._link_parts(self._final_module, linked)
        super().finalize()

    def _link_parts(self, module: Any, libraries: list[Any]) -> None:
        for each in libraries:
            if isinstance(each, _PartLibrary):
                self._reload_init.update(each._reload_init)
                module.link_in(each._final_module, preserve=True)


class _PartLibrary(_Library):
    """The code of a part: linked, optimised and made machine code within the kernels that call it, never alone."""

    def finalize(self) -> None:
        """Let each kernel have its own copy."""
        for function in self._final_module.functions:
            if not function.is_declaration:
                function.linkage = "linkonce_odr"
        self._finalize_dynamic_globals()
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        # For kernels that go numba's own way, which link what they call and no more.
        if self._shared_module is None:
            module, linked = self._final_module.clone(), _with_their_own(self._linking_libraries)
            self._link_parts(module, linked)
            for each in linked:
                if not isinstance(each, _PartLibrary):
                    module.link_in(each._get_module_for_linking(), preserve=True)
            self._shared_module = module
        return self._shared_module


def _with_their_own(libraries: list[Any]) -> list[Any]:
    """Return libraries and those that they link, each once."""
    found: dict[Any, None] = {}
    for each in libraries:
        found[each] = None
        if isinstance(each, _PartLibrary):
            found |= dict.fromkeys(_with_their_own(each._linking_libraries))
    return list(found)


@contextmanager
def _remembering(target: Any, flags: Any) -> Iterator[None]:
    """Find the type of each operation once, and its code once in a function: `a[i]` of the same types has the same.

    numba asks for it wherever the operation stands, again and again until all variables have a type, and again when it
    writes the operation's code.
    """
    find, find_code, propagate = _OPERATION.get_call_type, target.get_function, _RULES.propagate
    found = _FOUND.setdefault(flags.get_mangle_string(), {})
    codes: dict[Any, Any] = {}
    typed: dict[Any, list[Any]] = {}
    packers: dict[Any, LeanPacker] = {}

    def remembered(operation: Any, context: Any, args: Any, keywords: Any) -> Any:
        if keywords or not all(isinstance(each, _PLAIN_TYPES) for each in args):
            return find(operation, context, args, keywords)
        if args and isinstance(args[0], types.Array):
            # a[0] has the type of a[1].
            args = tuple(types.unliteral(each) for each in args)
        key = (operation, *args)
        if key not in found:
            found[key] = find(operation, context, args, keywords)
        return found[key]

    def remembered_code(operation: Any, signature: Any, _firstcall: bool = True) -> Any:
        key = (operation, signature)
        if key not in codes:
            codes[key] = find_code(operation, signature, _firstcall)
        return codes[key]

    def remembered_packer(kinds: Any) -> LeanPacker:
        key = tuple(kinds)
        if key not in packers:
            packers[key] = LeanPacker(target, key)
        return packers[key]

    def follow(network: Any, variables: Any) -> list[TypingError]:
        """Apply all rules, but not those of operations whose arguments have the types that they had before."""
        errors = []
        for rule in network.constraints:
            if isinstance(rule, CallConstraint) and not rule.kws and rule.vararg is None:
                of_arguments = [variables.typevars[each.name].type for each in rule.args]
                if rule.signature is not None and typed.get(rule) == of_arguments:
                    continue
                typed[rule] = of_arguments
            try:
                rule(variables)
            except TypingError as error:
                errors.append(error)
        return errors

    # numba compiles one function at a time, under a lock. A function that this one calls is compiled meanwhile, with a
    # memory of its own unless its options are the same: what an operation is made of depends on them too.
    _OPERATION.get_call_type, target.get_function = remembered, remembered_code
    target.get_arg_packer, _RULES.propagate = remembered_packer, follow
    try:
        yield
    finally:
        _OPERATION.get_call_type, _RULES.propagate = find, propagate
        del target.get_function, target.get_arg_packer


class _Interpreter(Interpreter):
    """Reads bytecode; what `with`, starred and keyword arguments are made of is not put together."""

    def post_process(self, peepholes: Any, func_ir: Any) -> Any:
        """Return what was read."""
        return func_ir


@register_pass(mutates_CFG=True, analysis_only=False)
class _Reading(FunctionPass):
    _name = "lcdvt_reading"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        state.func_ir = _Interpreter(state.func_id).interpret(state.bc)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Constants(FunctionPass):
    """Finds constant indices and exponents, and gives `x = SOME_NUMBER` a step in between.

    Without that step numba takes x for a constant, and no other number is allowed. Its own way has one variable for
    each assignment instead, which makes everything after it longer. It also looks where each variable is used for the
    last time, for those who count who holds an array.
    """

    _name = "lcdvt_constants"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        function = state.func_ir
        function.blocks = canonicalize_cfg(function.blocks)
        for block in function.blocks.values():
            block.body = _without_unpacked(block.body)
        for rewrite in rewrite_registry.rewrites["before-inference"]:
            matcher, waiting = rewrite(state), list(function.blocks)
            while waiting:
                at = waiting.pop()
                if matcher.match(function, function.blocks[at], state.typemap, state.calltypes):
                    function.blocks[at] = matcher.apply()
                    waiting.append(at)
        for block in function.blocks.values():
            statements = []
            for each in block.body:
                if _is_named_number(each):
                    number = block.scope.make_temp(each.loc)
                    statements.append(ir.Assign(each.value, number, each.loc))
                    each = ir.Assign(number, each.target, each.loc)
                statements.append(each)
            block.body = statements
        function._definitions = build_definitions(function.blocks)
        return True


def _without_unpacked(statements: list[Any]) -> list[Any]:
    """Return statements in which `a, b, c, d = 1, 2, 3, 4` makes no tuple, to take it apart again."""
    made, unpacked = {}, {}
    for each in statements:
        if _is_expression(each, "build_tuple"):
            made[each.target.name] = each.value.items
        elif _is_expression(each, "exhaust_iter") and each.value.value.name in made:
            unpacked[each.target.name] = unpacked[each.value.value.name] = made[each.value.value.name]
    kept = []
    for each in statements:
        if _is_expression(each, "static_getitem") and each.value.value.name in unpacked:
            each = ir.Assign(unpacked[each.value.value.name][each.value.index], each.target, each.loc)
        elif isinstance(each, ir.Assign) and each.target.name in unpacked:
            continue
        kept.append(each)
    return kept


def _is_expression(statement: Any, kind: str) -> bool:
    return isinstance(statement, ir.Assign) and isinstance(statement.value, ir.Expr) and statement.value.op == kind


def _is_named_number(statement: Any) -> bool:
    return (
        isinstance(statement, ir.Assign)
        and isinstance(statement.value, ir.Global | ir.FreeVar)
        and isinstance(statement.value.value, int)
    )


def _is_call(value: Any) -> bool:
    return isinstance(value, ir.Expr) and value.op == "call"


_LOOP_STEPS: Final = ("getiter", "iternext", "pair_first", "pair_second")


class _Loop(NamedTuple):
    """A loop over `range`, as far as it is written: its ends, where its number is kept, and what its head found."""

    start: Any
    stop: Any
    is_signed: bool
    place: Any = None
    number: Any = None
    goes_on: Any = None


class _Lower(Lower):
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


class _SmallLower(_Lower):
    """Writes code that is to be small: no loop stands in it once for single numbers and once more for SIMD."""

    def setup_function(self, fndesc: Any) -> None:
        """Begin a function."""
        super().setup_function(fndesc)
        self.function.attributes.add("optsize")


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(typed_passes.NativeLowering):
    _name = "lcdvt_lowering"
    lowering_class: type[Lower] = _Lower

    def run_pass(self, state: Any) -> bool:
        state.library = _Library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class _SmallLowering(_Lowering):
    _name = "lcdvt_small_lowering"
    lowering_class = _SmallLower


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(typed_passes.NativeLowering):
    _name = "lcdvt_part_lowering"
    lowering_class: type[Lower] = _Lower

    def run_pass(self, state: Any) -> bool:
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        # The name under which kernels find the part: as numba makes it for functions that Python cannot call.
        nowhere, name = 0, lowered.fndesc.qualname
        found_by = _dynfunc.make_function(
            lowered.fndesc.lookup_module(), name, name, nowhere, lowered.env, (state.library,)
        )
        state.targetctx.insert_user_function(found_by, lowered.fndesc, [state.library])
        state["cr"] = lowered._replace(cfunc=found_by)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _SmallPartLowering(_PartLowering):
    _name = "lcdvt_small_part_lowering"
    lowering_class = _SmallLower


class _ApartLower(_Lower):
    """Writes code that stands once, however often it is called: it is long where loops are SIMD."""

    def setup_function(self, fndesc: Any) -> None:
        """Begin a function."""
        super().setup_function(fndesc)
        self.function.attributes.add("noinline")


@register_pass(mutates_CFG=True, analysis_only=False)
class _ApartLowering(_PartLowering):
    _name = "lcdvt_apart_lowering"
    lowering_class = _ApartLower

    def run_pass(self, state: Any) -> bool:
        state.flags.noalias = True
        return super().run_pass(state)


class _Steps(PassManager):
    """Compiles in some steps, without timing and announcing each."""

    def run(self, state: Any) -> None:
        """Take all of them."""
        for step, _ in self.passes:
            step().run_pass(state)


@cache
def _steps(lowering: type) -> PassManager:
    steps = _Steps(lowering.__name__)
    for step in (
        _Reading,
        untyped_passes.FixupArgs,
        _Constants,
        typed_passes.NopythonTypeInference,
        typed_passes.NoPythonSupportedFeatureValidation,
        typed_passes.AnnotateTypes,
        lowering,
        typed_passes.NoPythonBackend,
    ):
        steps.add_pass(step, step.__name__)
    steps.finalize()
    return steps


class KernelCompiler(CompilerBase):
    """Compiles a kernel."""

    lowering: type = _Lowering

    def compile_extra(self, func: Any) -> Any:
        """Compile a function."""
        with no_collecting(), _remembering(self.state.targetctx, self.state.flags):
            return super().compile_extra(func)

    def define_pipelines(self) -> list[PassManager]:
        """Return the one way."""
        return [_steps(self.lowering)]


class SmallKernelCompiler(KernelCompiler):
    """Compiles a kernel whose own loops are short."""

    lowering = _SmallLowering


class PartCompiler(KernelCompiler):
    """Compiles what only kernels call."""

    lowering = _PartLowering


class SmallPartCompiler(KernelCompiler):
    """Compiles what only kernels call, and not often."""

    lowering = _SmallPartLowering


class ApartPartCompiler(KernelCompiler):
    """Compiles what only kernels call, with arrays none of which overlaps another."""

    lowering = _ApartLowering
