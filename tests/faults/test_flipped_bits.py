"""One bit of any stored file is another, as cables and disks do it: `verify` finds every one of a hundred."""

import random
import shutil
from pathlib import Path

import pytest
from helpers.today_files import sky_patrol_text

import lcdvt

FLIPS = 100
EMPTY = ("lock",)


@pytest.fixture(scope="module")
def workspace_of_all_kinds(tmp_path_factory) -> Path:
    """A survey read file by file, one that was joined, and a run: every kind of file that lcdvt stores."""
    folder = tmp_path_factory.mktemp("flips")
    data = folder / "data"
    for name, seed in (("old", 1), ("new", 2)):
        lcdvt.simulate("hits", folder / name, objects=30, seed=seed)
        lcdvt.ingest(folder / name, name=name, features=["Mean", "Std", "Skew"], data=data, jobs=1)
    lcdvt.simulate("ztf", folder / "ztf", objects=12, seed=4)
    lcdvt.ingest(folder / "ztf", join_radius="1arcsec", features=["Mean"], data=data, jobs=1)
    rows = [(58000.0 + day, 14.0 + day % 5 / 10, 0.02) for day in range(30)]
    (folder / "light_curve_1.csv").write_text(sky_patrol_text(rows, [16.1, 16.2, 16.3]))
    lcdvt.ingest(folder / "light_curve_1.csv", features=["Mean"], data=data, jobs=1)
    quick = {"members": 1, "steps": 4, "preset": "tied", "rows": ["forest-target"], "jobs": 1, "repeats": 1}
    lcdvt.transfer("old", "new", "20%", name="run", data=data, **quick)
    return data


@pytest.mark.slow
def test_every_flipped_bit_is_found(workspace_of_all_kinds, tmp_path):
    data = shutil.copytree(workspace_of_all_kinds, tmp_path / "data")
    assert all(checked.is_sound for checked in lcdvt.verify(data=data))
    files = sorted(path for path in data.rglob("*") if path.is_file() and path.name not in EMPTY)
    kinds: dict[str, list[Path]] = {}
    for path in files:
        kinds.setdefault(f"{path.parent.name}/{path.name.partition('-')[0]}", []).append(path)
    assert len(kinds) > 15
    assert "limits/part" in kinds
    chance = random.Random(20)
    missed = []
    for number in range(FLIPS):
        path = chance.choice(kinds[sorted(kinds)[number % len(kinds)]])
        whole = path.read_bytes()
        hurt = bytearray(whole)
        hurt[chance.randrange(len(hurt))] ^= 1 << chance.randrange(8)
        path.write_bytes(hurt)
        parts = path.relative_to(data).parts
        if lcdvt.verify(parts[1] if parts[0] == "runs" else parts[0], data=data)[0].is_sound:
            missed.append(path.relative_to(data))
        path.write_bytes(whole)
    assert not missed, f"{len(missed)} of {FLIPS}"
    assert all(checked.is_sound for checked in lcdvt.verify(data=data))
