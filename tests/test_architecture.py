"""The rooms of the house: imports run one way along the data, none in a circle, and signatures stay short.

The graph is made from the source with `ast`: every import counts, also one inside a function, but for those that only
a type checker sees.
"""

import ast
import graphlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import lcdvt

ROOT = Path(__file__).parents[1]
FOLDERS = {"lcdvt": ROOT / "lcdvt", "lcdvt.cli": ROOT / "cli", "lcdvt.catalogs": ROOT / "catalogs"}
# In the order data walks through them: a room may use those before it.
ROOMS = (
    "errors names evaluate compiled disk parallel figures catalogs features epochs workspace ingestion dataset dvt "
    "baselines tables results reports doubts desk run protocol simulator checks exports experiments estimator cli"
).split()
MOST_MODULES_AT_THE_DOOR = 6
MOST_PARAMETERS = 8
# The verbs of the command line as functions: a notebook names every option.
VERBS = {name for name in lcdvt.__all__ if name.islower()} | {"extract_survey", "run_stars", "search"}


def module_name(path: Path) -> str:
    for package, folder in sorted(FOLDERS.items(), key=lambda item: -len(item[0])):
        if path.is_relative_to(folder):
            parts = path.relative_to(folder).with_suffix("").parts
            return ".".join([package, *parts]).removesuffix(".__init__")
    raise AssertionError(path)


def sources() -> dict[str, Path]:
    # in a checkout lcdvt/cli may be a link to cli/: each file counts once
    found = {path.resolve() for folder in FOLDERS.values() for path in folder.rglob("*.py")}
    return {module_name(path): path for path in sorted(found)}


def imported(tree: ast.AST, modules: set[str]) -> Iterator[str]:
    """Yield the modules that a source imports at run time."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in modules else node.module
        yield from imported(node, modules)


def import_graph() -> dict[str, set[str]]:
    files = sources()
    known = set(files)
    return {
        name: {each for each in imported(ast.parse(path.read_text(encoding="utf-8")), known) if each in known} - {name}
        for name, path in files.items()
    }


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else module


def edges_against_the_order(graph: dict[str, set[str]]) -> list[str]:
    place = {name: number for number, name in enumerate(ROOMS)}
    return [
        f"{name} imports {other}"
        for name, others in graph.items()
        for other in sorted(others)
        if "." in name and "." in other and place[room(other)] > place[room(name)]
    ]


def circle(graph: dict[str, set[str]]) -> list[str]:
    # the package itself holds the version, and hands out public names by text
    inner = {name: others - {"lcdvt"} for name, others in graph.items() if name != "lcdvt"}
    try:
        list(graphlib.TopologicalSorter(inner).static_order())
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


def long_signatures() -> list[str]:
    found = []
    for module, path in sources().items():
        if module.startswith("lcdvt.cli"):  # a command's parameters are its options
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name not in VERBS:
                given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                count = len([each for each in given if each.arg not in ("self", "cls")])
                if count > MOST_PARAMETERS and not _is_compiled(node) and not _is_estimator(module, node):
                    found.append(f"{module}.{node.name} has {count} parameters")
    return found


def _is_compiled(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Kernels take arrays one by one: numba compiles no dataclass."""
    kernels = {"kernel", "small_kernel", "fast_kernel", "roomy_kernel", "fast_roomy_kernel"}
    decorators = kernels | {"part", "small_part", "apart_part", "inlined_part", "fast_part", "reordered_part"}
    return any(
        "jit" in ast.dump(each) or (isinstance(each, ast.Name) and each.id in decorators | {"_compiled"})
        for each in node.decorator_list
    )


def _is_estimator(module: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """scikit-learn wants each setting of an estimator as a parameter of its own."""
    return module == "lcdvt.estimator" and node.name == "__init__"


def test_every_room_is_in_the_order() -> None:
    assert {room(name) for name in sources() if "." in name} == set(ROOMS)


def test_imports_run_one_way() -> None:
    assert edges_against_the_order(import_graph()) == []


def test_nothing_imports_itself_in_a_circle() -> None:
    assert circle(import_graph()) == []


def test_few_modules_stand_at_the_door() -> None:
    at_the_door = sorted(path.name for path in (ROOT / "lcdvt").glob("*.py"))
    assert len(at_the_door) <= MOST_MODULES_AT_THE_DOOR, at_the_door


def test_no_function_but_a_verb_has_many_parameters() -> None:
    assert long_signatures() == []


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("lcdvt.disk.atomic", "from lcdvt.results.folder import find_run"),
        ("lcdvt.features.gate", "def late():\n    from lcdvt.protocol import transfer"),
        ("lcdvt.catalogs.survey", "import lcdvt.cli.main"),
    ],
)
def test_an_offending_import_is_found(module: str, line: str) -> None:
    graph = import_graph()
    graph[module] |= set(imported(ast.parse(line), set(graph)))
    assert edges_against_the_order(graph)


def test_a_circle_is_found() -> None:
    graph = import_graph()
    graph["lcdvt.dataset.scaling"].add("lcdvt.dataset.dataset")
    assert {"lcdvt.dataset.scaling", "lcdvt.dataset.dataset"} <= set(circle(graph))


def test_tests_mirror_the_rooms() -> None:
    folders = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and list(path.glob("test_*.py"))}
    assert folders - set(ROOMS) == {"faults", "stories"}
