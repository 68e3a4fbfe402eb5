"""What is printed is what was meant: names are no markup, and a reader that leaves early does no harm."""

import io
import os
import subprocess
import sys

import pytest
from helpers.raw_files import write_eros
from rich.table import Table

from lcdvt.cli.console import PlainConsole, out, progress_display

ODD_NAMES = ["[/y]", "a[red]b", ":star:", "[link=x]"]
ROWS = [(300.0 + day, 15.0 + day / 100, 0.02, 16.0, 0.03) for day in range(5)]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_names_are_printed_as_they_are(name):
    written = io.StringIO()
    console = PlainConsole(file=written, width=80)
    console.print(f"1 {name}")
    console.print(f"2 {name}", style="red")
    table = Table(f"3 {name}", title=f"4 {name}", caption=f"5 {name}", box=None)
    table.add_row(f"6 {name}")
    console.print(table)
    assert [line for line in range(1, 7) if f"{line} {name}" in written.getvalue()] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_names_in_the_progress_bar_are_printed_as_they_are(name, monkeypatch):
    screen = io.StringIO()
    terminal = PlainConsole(file=screen, force_terminal=True, color_system=None, width=200)
    monkeypatch.setattr("lcdvt.cli.console.err", terminal)
    with progress_display(f"reading {name}", f"files {name}") as progress:
        progress(1, 2, f"now {name}")
    for text in (f"reading {name}", f"files {name}", f"now {name}", "1/2"):
        assert text in screen.getvalue()


def test_the_commands_print_odd_names(tmp_path, workspace, lcdvt):
    folder = tmp_path / "[/y] :star:"
    for star in ("lm001", "lm002"):
        write_eros(folder / "eros", star, ROWS)
    (folder / "c.csv").write_text("id,class\nlm001,[/z]\nlm002,:star:\n")
    options = ("--survey", "eros", "--features", "none", "--jobs", 1, "--data", folder / "data")
    result = lcdvt("ingest", folder / "eros", "--catalog", folder / "c.csv", *options)
    assert result.returncode == 0, result.stderr
    for text in ("[/y] :star:/data", "[/z]", "  :star: (the survey's own name)"):
        assert text in result.stdout
    missing = lcdvt("ingest", folder / "[/b]none", *options)
    assert (missing.returncode, "[/b]none does not exist" in missing.stderr) == (2, True)


@pytest.mark.parametrize("arguments", [["surveys"], ["features"], ["surveys", "show", "macho"]])
def test_a_reader_that_leaves_early_does_no_harm(arguments):
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "lcdvt.cli.main", *arguments]
    try:
        result = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=300, check=False)
    finally:
        os.close(writing)
    assert (result.returncode, result.stderr) == (0, "")


def test_the_work_is_done_although_nobody_reads(tmp_path):
    write_eros(tmp_path / "eros", "lm001", ROWS)
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "lcdvt.cli.main", "ingest", "eros", "--data", "data"]
    command += ["--features", "none", "--jobs", "1"]
    try:
        result = subprocess.run(command, cwd=tmp_path, stdout=writing, stderr=writing, timeout=300, check=False)
    finally:
        os.close(writing)
    assert result.returncode == 0
    assert (tmp_path / "data" / "eros" / "ingest.json").is_file()


def test_a_pipe_without_reader_silences_only_its_own_console():
    assert not out.quiet
    reading, writing = os.pipe()
    os.close(reading)
    console = PlainConsole(file=os.fdopen(writing, "w"))
    console.print("unheard")
    console.print("unheard again")
    assert (console.quiet, out.quiet) == (True, False)
    console.file.close()


def test_ctrl_c_inside_a_compiled_function_is_an_interruption_too(monkeypatch, capsys):
    from lcdvt.cli import main

    def interrupted():
        inner = SystemError("returned a result with an exception set")
        inner.__cause__ = KeyboardInterrupt()
        raise SystemError("returned a result with an exception set") from inner

    monkeypatch.setattr(main, "app", interrupted)
    with pytest.raises(SystemExit) as ending:
        main.main()
    assert ending.value.code == main.EXIT_INTERRUPTED

    def broken():
        raise SystemError("something else")

    monkeypatch.setattr(main, "app", broken)
    with pytest.raises(SystemError):
        main.main()


def test_an_interruption_before_the_command_begins_is_one_sentence(monkeypatch, capsys):
    from lcdvt.cli import main, start

    def interrupted():  # as typer is while it puts the commands together
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "app", interrupted)
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    with pytest.raises(SystemExit) as ending:
        start.start()
    assert ending.value.code == main.EXIT_INTERRUPTED
    assert capsys.readouterr().err.startswith("lcdvt: interrupted")


DROPPED = """
class Tidied:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
Tidied()
time.sleep(900)
"""


@pytest.mark.parametrize("interrupt", ["raise KeyboardInterrupt", DROPPED], ids=["raised", "dropped"])
def test_an_interruption_while_python_imports_is_one_sentence(interrupt):
    code = (
        "import signal, sys, time\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'lcdvt.cli.main':\n"
        f"            exec({interrupt!r})\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from importlib.metadata import entry_points\n"
        "entry_points(group='console_scripts')['lcdvt'].load()()"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300)
    assert answer.returncode == 130, answer.stderr
    assert (
        answer.stderr.strip() == "lcdvt: interrupted; what was finished is kept, run the same command again to go on."
    )


def test_a_log_says_what_is_prepared_at_once_and_counts_without_a_unit(monkeypatch):
    log = io.StringIO()
    monkeypatch.setattr("lcdvt.cli.console.err", PlainConsole(file=log, force_terminal=False, width=200))
    with progress_display("ingest") as progress:
        progress(0, None, "compiling 20 functions, once: 0 of 20")
        progress(0, None, "compiling 20 functions, once: 3 of 20")  # too soon for another line
        progress(7, 7)
    with progress_display("compiling 20 functions, once", unit="") as progress:
        for done in (0, 12, 20):
            progress(done, 20)
    first, last, *counted = log.getvalue().splitlines()
    assert first == "ingest: compiling 20 functions, once: 0 of 20"
    assert last.startswith("ingest: 7/7 objects, ")
    assert counted == ["compiling 20 functions, once: 0 of 20", "compiling 20 functions, once: 20 of 20"]
