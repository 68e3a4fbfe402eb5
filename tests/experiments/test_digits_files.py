"""Digits on disk: read as published, and refused with a sentence when missing or damaged."""

import gzip
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lcdvt.errors import InputFileError
from lcdvt.experiments.digits.files import parse_idx, read_digits

IMAGES = "train-images-idx3-ubyte.gz"


def idx(array: np.ndarray) -> bytes:
    return bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


@given(hnp.arrays(np.uint8, hnp.array_shapes(max_dims=3, max_side=5)))
def test_idx_gives_the_array_back(array: np.ndarray) -> None:
    assert (parse_idx(idx(array), Path("a")) == array).all()


@given(hnp.arrays(np.uint8, hnp.array_shapes(max_dims=3, max_side=4)), st.data())
def test_a_cut_idx_file_is_refused(array: np.ndarray, data: st.DataObject) -> None:
    whole = idx(array)
    kept = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(InputFileError, match="fetch it again"):
        parse_idx(whole[:kept], Path("a"))


def test_a_missing_file_is_named_with_where_it_is_published(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match=r"train-images-idx3-ubyte\.gz is missing: fetch it from https://"):
        read_digits("mnist", tmp_path)
    with pytest.raises(InputFileError, match=r"usps\.h5 is missing: fetch it from https://"):
        read_digits("usps", tmp_path)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"no gzip at all", "cannot be unpacked"),
        (gzip.compress(b"x" * 1000, mtime=0)[:-20], "cannot be unpacked"),
        (gzip.compress(idx(np.zeros((2, 28, 28), dtype=np.uint8)), mtime=0), "does not hold the published digits"),
    ],
)
def test_damaged_mnist_is_refused(tmp_path: Path, content: bytes, what: str) -> None:
    (tmp_path / "mnist").mkdir()
    (tmp_path / "mnist" / IMAGES).write_bytes(content)
    with pytest.raises(InputFileError, match=f"{IMAGES} {what}.*fetch it again from https://"):
        read_digits("mnist", tmp_path)


def test_damaged_usps_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "usps" / "usps.h5"
    path.parent.mkdir()
    path.write_bytes(b"no HDF5")
    with pytest.raises(InputFileError, match="cannot be read"):
        read_digits("usps", tmp_path)
    with h5py.File(path, "w") as file:
        for group in ("train", "test"):
            file[f"{group}/data"] = np.zeros((3, 256), dtype=np.float32)
            file[f"{group}/target"] = np.zeros(3, dtype=np.int32)
    with pytest.raises(InputFileError, match="does not hold the published digits"):
        read_digits("usps", tmp_path)


def test_unknown_digits_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="choose from mnist, usps"):
        read_digits("svhn", tmp_path)


def test_the_published_digits(real_data: Path) -> None:
    for name, side, trained, tested in (("mnist", 28, 60000, 10000), ("usps", 16, 7291, 2007)):
        digits = read_digits(name, real_data / "digits")
        assert (digits.side, len(digits.train_x), len(digits.test_x)) == (side, trained, tested)
        assert (digits.train_x.min(), digits.train_x.max()) == (0, 1)
        assert set(digits.train_y) == set(digits.test_y) == set(range(10))


def test_the_command_says_what_is_missing(lcdvt: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = lcdvt("experiment", "digits", "--data", "nowhere", "--target", "usps", "--mode", "supervised")
    assert done.returncode == 2
    assert "usps.h5 is missing: fetch it from https://" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
