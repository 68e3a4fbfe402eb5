"""MNIST's idx files and the USPS HDF5 file, checked against the published digits.

The checksum is that of what a file holds, not of the file: the same digits packed by another program are
the same digits.
"""

import gzip
import hashlib
import struct
import zlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lcdvt.errors import InputFileError

CLASSES: Final = tuple(str(digit) for digit in range(10))
NAMES: Final = ("mnist", "usps")
HIGHEST_PIXEL: Final = np.float32(255)
VALIDATION_SHARE: Final = 1 / 6
"""As many images as the test set has."""
# The validation part is the same for every run: it stands for the test set while settings are chosen.
VALIDATION_SEED: Final = 0

_MNIST_AT: Final = "https://ossci-datasets.s3.amazonaws.com/mnist/"
_USPS_AT: Final = "https://www.kaggle.com/datasets/bistaumanga/usps-dataset"
_MNIST_FILES: Final = {
    "train-images-idx3-ubyte.gz": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte.gz": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte.gz": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte.gz": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
_USPS_FILE: Final = "usps.h5"
_USPS_CHECKSUM: Final = "7696978d92bbe78eb4b11de8532c545ac0f63853d3f67d4e2bb0de0bca0e56c1"

# The third byte of an idx file is the type of its numbers (8: unsigned bytes), the fourth their dimensions.
_IDX_BYTES: Final = 0x08


@dataclass(frozen=True)
class Digits:
    """One domain of digits; images are rows of pixels between 0 (paper) and 1 (ink).

    Parameters
    ----------
    name
        The domain.
    train_x, train_y
        Training images and digits.
    test_x, test_y
        What accuracy is reported on.
    """

    name: str
    train_x: NDArray[np.float32]
    train_y: NDArray[np.int64]
    test_x: NDArray[np.float32]
    test_y: NDArray[np.int64]

    @property
    def side(self) -> int:
        """Pixels along one side."""
        return round(self.train_x.shape[1] ** 0.5)

    def for_validation(self) -> "Digits":
        """Return the training images alone, part of them in place of the test images."""
        order = np.random.default_rng(VALIDATION_SEED).permutation(len(self.train_y))
        kept = round(len(order) * VALIDATION_SHARE)
        scored, trained = np.sort(order[:kept]), np.sort(order[kept:])
        return Digits(
            self.name, self.train_x[trained], self.train_y[trained], self.train_x[scored], self.train_y[scored]
        )


@lru_cache(maxsize=len(NAMES))
def read_digits(name: str, folder: Path) -> Digits:
    """Read `mnist` or `usps` from `folder`/mnist/*.gz or `folder`/usps/usps.h5."""
    if name == "mnist":
        return _read_mnist(folder / name)
    if name == "usps":
        return _read_usps(folder / name / _USPS_FILE)
    raise InputFileError(f"there are no digits named {name!r}; choose from {', '.join(NAMES)}.")


def _read_mnist(folder: Path) -> Digits:
    arrays = []
    for name, checksum in _MNIST_FILES.items():
        path = _existing(folder / name, _MNIST_AT)
        try:
            content = gzip.decompress(path.read_bytes())
        except (OSError, EOFError, zlib.error) as error:
            raise _damaged(path, f"cannot be unpacked ({error})", _MNIST_AT) from error
        _check(path, hashlib.sha256(content).hexdigest(), checksum, _MNIST_AT)
        arrays.append(parse_idx(content, path))
    train_x, train_y, test_x, test_y = arrays
    return Digits("mnist", _pixels(train_x), _classes(train_y), _pixels(test_x), _classes(test_y))


def parse_idx(content: bytes, path: Path) -> NDArray[np.uint8]:
    """Return the array of an unpacked idx file of unsigned bytes."""
    if len(content) < 4 or content[:3] != bytes((0, 0, _IDX_BYTES)):
        raise _damaged(path, "is not an idx file of bytes", _MNIST_AT)
    dimensions = content[3]
    start = 4 + 4 * dimensions
    if len(content) < start:
        raise _damaged(path, "ends within its header", _MNIST_AT)
    shape = struct.unpack(f">{dimensions}I", content[4:start])
    if len(content) - start != int(np.prod(shape, dtype=np.int64)):
        raise _damaged(path, f"has {len(content) - start} bytes of values where its header says {shape}", _MNIST_AT)
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def _read_usps(path: Path) -> Digits:
    import h5py

    _existing(path, _USPS_AT)
    try:
        with h5py.File(path, "r") as file:
            parts = {
                f"{group}/{name}": np.ascontiguousarray(file[group][name][...], dtype=dtype)
                for group in ("train", "test")
                for name, dtype in (("data", "<f4"), ("target", "<i4"))
            }
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise _damaged(path, f"cannot be read ({error})", _USPS_AT) from error
    digest = hashlib.sha256()
    for values in parts.values():
        digest.update(values.tobytes())
    _check(path, digest.hexdigest(), _USPS_CHECKSUM, _USPS_AT)
    return Digits(
        "usps",
        parts["train/data"],
        parts["train/target"].astype(np.int64),
        parts["test/data"],
        parts["test/target"].astype(np.int64),
    )


def _existing(path: Path, published_at: str) -> Path:
    if not path.is_file():
        raise InputFileError(f"{path} is missing: fetch it from {published_at} and put it there, or give data=FOLDER.")
    return path


def _check(path: Path, found: str, expected: str, published_at: str) -> None:
    if found != expected:
        raise _damaged(path, f"does not hold the published digits (checksum {found[:12]}…)", published_at)


def _damaged(path: Path, what: str, published_at: str) -> InputFileError:
    return InputFileError(f"{path} {what}: fetch it again from {published_at}.")


def _pixels(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    return images.reshape(len(images), -1).astype(np.float32) / HIGHEST_PIXEL


def _classes(digits: NDArray[np.uint8]) -> NDArray[np.int64]:
    return digits.astype(np.int64)
