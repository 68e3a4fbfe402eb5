"""A shorter way through numba's compiler, for kernels that are loops over arrays.

numba's own way is made for any Python function: it looks for closures, array expressions and lists to rewrite, and for
the last use of every variable, to count who holds an array; it finds the types of every single addition anew, optimises
twice, and makes machine code of each function that a kernel calls, although it is then compiled a second time within
the kernel. Kernels have none of these things and need none of this. The steps that are left are numba's own, in its own
order, so that the same program comes out; `benchmarks/start.py --functions` prints what each function costs.

These are numba's inner parts, which another version may have changed: `kernel.py` lists the versions it was tried with,
and leaves all others their own way.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

from llvmlite.binding import create_pass_builder, create_pipeline_tuning_options  # type: ignore[import-untyped]
from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import ir, typed_passes, types, untyped_passes
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

from lcdvt.compiled.arrays import LeanPacker
from lcdvt.compiled.collecting import no_collecting
from lcdvt.compiled.lowering import ApartLower, KernelLower, SmallLower

# Their types leave out what is used here.
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


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(typed_passes.NativeLowering):
    _name = "lcdvt_lowering"
    lowering_class: type[Lower] = KernelLower

    def run_pass(self, state: Any) -> bool:
        state.library = _Library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class _SmallLowering(_Lowering):
    _name = "lcdvt_small_lowering"
    lowering_class = SmallLower


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(typed_passes.NativeLowering):
    _name = "lcdvt_part_lowering"
    lowering_class: type[Lower] = KernelLower

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
    lowering_class = SmallLower


@register_pass(mutates_CFG=True, analysis_only=False)
class _ApartLowering(_PartLowering):
    _name = "lcdvt_apart_lowering"
    lowering_class = ApartLower

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
