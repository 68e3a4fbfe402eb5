"""Run the demo and put what it printed, and its latent map, into docs/: `python docs/make_demo.py`.

The commands between the two marks of docs/demo.md, and the output under one of them, are those of this run.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

import lcdvt

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- demo: begin (python docs/make_demo.py) -->", "<!-- demo: end -->"
PROMPT = "$ "
SHOWN = "lcdvt runs compare"
"""The page shows the output of this command, too."""
MAPPED_RUN = "eros-macho"
WIDTH = 110


def run_demo(folder: Path) -> str:
    """Run demo.sh, print what it prints, and return it."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"DEMO": str(folder), "PATH": path, "COLUMNS": str(WIDTH), "NO_COLOR": "1"}
    lines = []
    command = ["bash", str(ROOT / "demo.sh")]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        for line in demo.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    if demo.returncode:
        raise SystemExit(demo.returncode)
    return "".join(lines)


def shown(printed: str) -> str:
    """Return the commands of the demo, and what the one whose output is shown has printed."""
    pieces = re.split(rf"^{re.escape(PROMPT)}", printed, flags=re.MULTILINE)[1:]
    lines = []
    for piece in pieces:
        command, _, output = piece.partition("\n")
        lines.append(PROMPT + command)
        if command.startswith(SHOWN):
            lines.extend(line.rstrip() for line in output.splitlines() if line.strip())
    return "```console\n" + "\n".join(lines) + "\n```"


def put_into(page: Path, block: str) -> None:
    """Replace what stands between the two marks."""
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n{block}\n{END}{after}", encoding="utf-8")


def draw_map(workspace: Path, picture: Path) -> None:
    """Draw the latent map of one of the demo's runs."""
    figure = lcdvt.open_run(MAPPED_RUN, workspace).plot_latent()
    figure.suptitle(f"{MAPPED_RUN} (simulated)")
    figure.savefig(picture, dpi=110)


def main() -> None:
    """Run the demo and write the page and the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("demo"), help="where the demo works")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "demo.md")
    parser.add_argument("--picture", type=Path, default=ROOT / "docs" / "demo-latent-map.png")
    arguments = parser.parse_args()
    put_into(arguments.page, shown(run_demo(arguments.folder.absolute())))
    draw_map(arguments.folder / "lcdvt-data", arguments.picture)


if __name__ == "__main__":
    main()
