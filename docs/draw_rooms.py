"""Draw the rooms of the package from its real imports: `python docs/draw_rooms.py PICTURE.svg`.

The graph is built with `ast`, so that nothing is imported. A room is a folder of the package, or a module that lies
directly in it. Imports for type checkers alone are left out; imports inside functions count.
"""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = "lcdvt"
FOLDERS = {"cli": ROOT / "cli", "catalogs": ROOT / "catalogs"}
"""Rooms that lie beside the package and are installed into it."""
BOX = (1.36, 0.44)
STEP = (1.62, 0.86)
"""Width and height of a room, and the distance to the next one, in inches."""
PASSAGE = 0.3
"""Inches that an arrow gets where it passes between rooms."""
INK, PAPER, LINE = "#1b2a41", "#e8eef7", "#5a7184"

Graph = Mapping[str, frozenset[str]]


def sources() -> Iterator[tuple[str, Path]]:
    """Yield every file of the package with the room it lies in."""
    package = ROOT / PACKAGE
    for path in sorted(package.glob("*.py")):
        if path.stem != "__init__":  # it names the public names' homes, and is no room
            yield path.stem, path
    inside = {path.name: path for path in package.iterdir() if (path / "__init__.py").is_file()}
    for room, folder in sorted((inside | FOLDERS).items()):
        for path in sorted(folder.rglob("*.py")):
            yield room, path


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the full names of the modules that a file imports."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        else:
            yield from imported(node)


def graph() -> Graph:
    """Return which rooms each room imports."""
    files = list(sources())
    rooms = {room for room, _ in files}
    edges: dict[str, set[str]] = {room: set() for room in rooms}
    for room, path in files:
        for name in imported(ast.parse(path.read_text(encoding="utf-8"))):
            parts = name.split(".")
            if parts[0] == PACKAGE and len(parts) > 1 and parts[1] in rooms and parts[1] != room:
                edges[room].add(parts[1])
    return {room: frozenset(edges[room]) for room in sorted(edges)}


def levels(edges: Graph) -> dict[str, int]:
    """Return each room's level: one more than the highest of the rooms it imports."""
    found: dict[str, int] = {}

    def level(room: str, above: tuple[str, ...] = ()) -> int:
        if room in above:
            raise SystemExit(f"rooms import each other in a circle: {' -> '.join((*above, room))}")
        if room not in found:
            found[room] = 1 + max((level(other, (*above, room)) for other in edges[room]), default=-1)
        return found[room]

    for room in edges:
        level(room)
    return found


def reduced(edges: Graph) -> dict[str, frozenset[str]]:
    """Leave out the arrows that a chain of other arrows implies."""

    def reachable(room: str) -> frozenset[str]:
        return edges[room].union(*(reachable(other) for other in edges[room]))

    return {
        room: frozenset(
            other for other in others if not any(other in reachable(third) for third in others if third != other)
        )
        for room, others in edges.items()
    }


def rows_of(edges: Graph) -> tuple[list[list[str]], dict[tuple[str, str], list[str]]]:
    """Return the rows from the lowest level up, and the way of each arrow through them.

    An arrow that passes a level without stopping gets a place of its own there, so that it runs between rooms and not
    through them.
    """
    found = levels(edges)
    rows: list[list[str]] = [[] for _ in range(1 + max(found.values()))]
    for room in edges:
        rows[found[room]].append(room)
    ways = {}
    for room, others in edges.items():
        for other in sorted(others):
            between = [f"{room} > {other} {level}" for level in range(found[room] - 1, found[other], -1)]
            for stop, level in zip(between, range(found[room] - 1, found[other], -1), strict=True):
                rows[level].append(stop)
            ways[room, other] = [room, *between, other]
    return rows, ways


def places(rows: list[list[str]], ways: Mapping[tuple[str, str], list[str]]) -> dict[str, tuple[float, float]]:
    """Return where everything is drawn: its row says how high, what it is tied to says where in the row."""
    tied = defaultdict(set)
    for way in ways.values():
        for one, other in pairwise(way):
            tied[one].add(other)
            tied[other].add(one)
    x: dict[str, float] = {}

    def spread(row: list[str]) -> None:
        widths = [PASSAGE if ">" in stop else STEP[0] for stop in row]
        left = -sum(widths) / 2
        for stop, width in zip(row, widths, strict=True):
            x[stop] = left + width / 2
            left += width

    def pull(stop: str) -> tuple[float, str]:
        return sum(x[other] for other in tied[stop]) / max(len(tied[stop]), 1), stop

    for row in rows:
        spread(row)
    for turn in range(40):  # each row is sorted by the mean place of its neighbours until nothing moves any more
        for row in rows if turn % 2 else reversed(rows):
            row.sort(key=pull)
            spread(row)
    return {stop: (x[stop], level * STEP[1]) for level, row in enumerate(rows) for stop in row}


def draw(picture: Path) -> None:
    """Draw the rooms, each above the rooms it imports."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
    from matplotlib.path import Path as Curve

    edges = reduced(graph())
    rows, ways = rows_of(edges)
    place = places(rows, ways)
    across, up = [spot[0] for spot in place.values()], [spot[1] for spot in place.values()]
    size = (max(across) - min(across) + STEP[0] + 0.2, max(up) - min(up) + STEP[1])
    with mpl.rc_context({"svg.fonttype": "path", "svg.hashsalt": PACKAGE}):
        figure = plt.figure(figsize=size)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set(xlim=(min(across) - STEP[0] / 2 - 0.1, max(across) + STEP[0] / 2 + 0.1))
        axes.set(ylim=(min(up) - STEP[1] / 2, max(up) + STEP[1] / 2))
        for way in ways.values():
            points = [place[stop] for stop in way]
            start, end = (points[0][0], points[0][1] - BOX[1] / 2), (points[-1][0], points[-1][1] + BOX[1] / 2)
            # straight through each row, bent between the rows
            stops = [start, *((x, y + side * BOX[1] / 2) for x, y in points[1:-1] for side in (1, -1)), end]
            curve, codes = [stops[0]], [Curve.MOVETO]
            for number, (here, there) in enumerate(pairwise(stops)):
                if number % 2:
                    curve.append(there)
                    codes.append(Curve.LINETO)
                else:
                    middle = (here[1] + there[1]) / 2
                    curve += [(here[0], middle), (there[0], middle), there]
                    codes += [Curve.CURVE4] * 3
            arrow = FancyArrowPatch(path=Curve(curve, codes), arrowstyle="-|>", mutation_scale=9, color=LINE, lw=0.9)
            arrow.set(facecolor=LINE, zorder=1)
            axes.add_patch(arrow)
        for room in edges:
            x, y = place[room]
            corner = (x - BOX[0] / 2, y - BOX[1] / 2)
            style = "round,pad=0,rounding_size=0.08"
            axes.add_patch(FancyBboxPatch(corner, *BOX, boxstyle=style, facecolor=PAPER, edgecolor=INK, zorder=2))
            axes.text(x, y, room, ha="center", va="center", color=INK, fontsize=11, zorder=3)
        picture.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(picture, metadata={"Date": None} if picture.suffix == ".svg" else None)
        plt.close(figure)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
