"""What several tests need: the folder of real data, a workspace of their own, two surveys, the command line."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from helpers.fewer_trees import IN_EVERY_PROCESS, fewer_trees
from helpers.warm_commands import WarmCommand
from hypothesis import settings

# How long an example takes says more about the machine than about the code.
settings.register_profile("lcdvt", deadline=None)
settings.load_profile("lcdvt")

# A script's background job ignores the keyboard's interrupt, and so would every command that a test interrupts.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

REAL_DATA_VARIABLE = "LCDVT_REAL_DATA"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the stories begin: they take minutes each, and at the end one process would wait for the other's."""
    items.sort(key=lambda item: "stories" not in item.path.parts)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of public survey data, where there is one."""
    folder = os.environ.get(REAL_DATA_VARIABLE)
    if not folder:
        pytest.skip(f"{REAL_DATA_VARIABLE} is not set: no real light curves to test on")
    return Path(folder)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty workspace that every verb of the test uses."""
    folder = tmp_path / "lcdvt-data"
    monkeypatch.setenv("LCDVT_DATA", str(folder))
    return folder


@pytest.fixture
def lcdvt(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The command line in a process and a folder of the test's own."""

    def run(*arguments: object, cwd: Path = tmp_path) -> subprocess.CompletedProcess[str]:
        command = WarmCommand(arguments, os.environ | {"COLUMNS": "120", "NO_COLOR": "1"}, cwd)
        written = command.communicate(timeout=300)
        return subprocess.CompletedProcess(command.args, command.wait(), *written)

    return run


@pytest.fixture
def lcdvt_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The command line inside this process, which has its imports behind it: for what needs no process of its own."""
    from lcdvt.cli.console import out
    from lcdvt.cli.main import main

    monkeypatch.setattr(out, "_width", 200)  # a COLUMNS in the environment would wrap what is looked for

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["lcdvt", *map(str, arguments)])
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as ending:
            code = int(ending.code or 0)
        written = capsys.readouterr()
        return subprocess.CompletedProcess(sys.argv, code, written.out, written.err)

    return run


@pytest.fixture(scope="module")
def few_trees() -> Iterator[None]:
    """Teachers and rivals of a few trees each, here and in commands: for what does not depend on how good they are."""
    with fewer_trees(), pytest.MonkeyPatch.context() as patch:
        for variable, value in IN_EVERY_PROCESS.items():
            patch.setenv(variable, value)
        yield


@pytest.fixture(scope="session")
def two_surveys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with two small simulated surveys of HiTS' kind, `old` and `new`, ingested."""
    import lcdvt

    folder = tmp_path_factory.mktemp("surveys")
    for name, seed in (("old", 1), ("new", 2)):
        lcdvt.simulate("hits", folder / name, objects=160, seed=seed)
        lcdvt.ingest(folder / name, name=name, data=folder / "data", jobs=1)
    return folder / "data"
