"""Two people on one workspace: one reads what the other wrote, and is told in a sentence what they may not write."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from helpers.forked_kills import in_fork

import lcdvt
from lcdvt.errors import WorkspaceError

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="to be two users a test has to be root")
ANN, BOB, GROUP = 60001, 60002, 60100


@pytest.fixture
def shared(two_surveys) -> Iterator[Path]:
    """A folder that everybody may enter, with raw light curves and a workspace that does not exist yet."""
    folder = Path(tempfile.mkdtemp(prefix="lcdvt-shared-"))
    shutil.copytree(two_surveys.parent / "new", folder / "raw")
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    yield folder
    shutil.rmtree(folder)


def as_user(user: int, umask: int, folder: Path, work: Callable[[], object]) -> None:
    def change_and_work() -> None:
        os.setgroups([GROUP])
        os.setgid(GROUP)
        os.setuid(user)
        os.umask(umask)
        work()

    in_fork(folder, change_and_work)


def test_a_workspace_of_a_group_is_written_by_both(shared):
    data = shared / "data"
    as_user(ANN, 0o002, shared, lambda: lcdvt.ingest(shared / "raw", features=["Mean"], jobs=1, data=data))
    as_user(BOB, 0o002, shared, lambda: lcdvt.extract("hits", features=["Mean", "Std"], jobs=1, data=data))
    as_user(ANN, 0o002, shared, lambda: lcdvt.ingest(shared / "raw", jobs=1, data=data))
    assert lcdvt.verify("hits", data=data)[0].is_sound
    assert lcdvt.open_survey("hits", data).features().shape[1] == 3


def test_a_workspace_of_another_is_read_and_not_written(shared):
    data = shared / "data"
    as_user(ANN, 0o022, shared, lambda: lcdvt.ingest(shared / "raw", features=["Mean"], jobs=1, data=data))
    before = {path: path.read_bytes() for path in data.rglob("*") if path.is_file()}

    def read_and_try_to_write() -> None:
        assert lcdvt.verify("hits", data=data)[0].is_sound
        assert len(lcdvt.open_survey("hits", data).features()) > 100
        for work in (
            lambda: lcdvt.extract("hits", features=["Std"], jobs=1, data=data),
            lambda: lcdvt.ingest(shared / "raw", jobs=1, data=data),
        ):
            with pytest.raises(WorkspaceError, match="cannot be written: Permission denied"):
                work()

    as_user(BOB, 0o022, shared, read_and_try_to_write)
    assert {path: path.read_bytes() for path in data.rglob("*") if path.is_file()} == before
