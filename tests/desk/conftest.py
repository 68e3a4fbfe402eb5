"""Two surveys and a transfer between them, made once for all tests of the desk."""

import shutil
from pathlib import Path

import pytest
from helpers.desks import make_run


@pytest.fixture(scope="session")
def with_run(two_surveys: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with the surveys `old` and `new` and the transfer `run`; only to be copied."""
    data = shutil.copytree(two_surveys, tmp_path_factory.mktemp("desk") / "data")
    make_run(data)
    return data
