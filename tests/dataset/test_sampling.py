"""Which stars are learned from where there are too many: by id and seed alone, rare classes whole."""

import hashlib
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lcdvt
from lcdvt.dataset.sampling import first_by_key, read_roll, sampled, star_keys, stratified_by_key
from lcdvt.errors import WorkspaceError


def test_the_key_of_a_star_follows_from_its_id_and_the_seed():
    ids = [f"star-{number}" for number in range(1000)]
    assert np.array_equal(star_keys(ids, 3), star_keys(ids[::-1], 3)[::-1])
    assert len(np.unique(star_keys(ids, 3))) == 1000
    assert not np.array_equal(star_keys(ids, 3), star_keys(ids, 4))
    # 64-bit words in one byte order, so that every machine chooses the same stars
    digest = hashlib.blake2b(b"lm0010k1", digest_size=8, salt=bytes(16)).digest()
    assert star_keys(["lm0010k1"], 0).tolist() == [int.from_bytes(digest, "little")]


@given(st.lists(st.integers(0, 2**64 - 1), unique=True, max_size=60), st.integers(0, 70))
def test_the_lowest_keys_are_chosen(keys, count):
    key = np.array(keys, dtype=np.uint64)
    chosen = first_by_key(key, count)
    assert sorted(key[chosen].tolist()) == sorted(keys)[:count]
    assert np.array_equal(chosen, np.sort(chosen))


@given(
    st.lists(st.integers(-1, 4), min_size=1, max_size=400),
    st.integers(50, 200),
    st.integers(0, 5),
)
def test_a_source_keeps_rare_classes_whole_and_the_others_in_proportion(drawn, most, seed):
    y = np.array(drawn)
    key = star_keys([str(number) for number in range(len(y))], seed)
    chosen = stratified_by_key(y, key, most)
    assert len(np.unique(chosen)) == len(chosen) == min(len(y), len(chosen))
    if len(y) <= most:
        assert len(chosen) == len(y)
        return
    strata, sizes = np.unique(y, return_counts=True)
    kept = np.array([(y[chosen] == stratum).sum() for stratum in strata])
    # no more than wanted, and rounding loses less than one star of each class
    assert most - len(strata) < kept.sum() <= most
    even = most // (2 * len(strata))
    assert (kept[sizes <= even] == sizes[sizes <= even]).all()
    assert (kept[sizes > even] >= even).all()
    larger = np.argsort(sizes)
    assert (np.diff(kept[larger]) >= -1).all(), "a larger class never has fewer stars, but for rounding"


def test_the_order_of_the_parts_does_not_matter(two_surveys, tmp_path):
    """The same stars, stored in other parts, are chosen again, with the same features and labels."""
    stored = lcdvt.open_survey("new", two_surveys)
    other = lcdvt.open_survey("new", _with_parts_exchanged(two_surveys, tmp_path))
    found = []
    for survey in (stored, other):
        roll = read_roll(survey, seed=5)
        some = sampled(survey, first_by_key(roll.key, 40))
        found.append((some.features().set_index("object_id"), some.objects().set_index("object_id")["label"]))
    assert list(found[0][0].index) != list(found[1][0].index), "the parts were not exchanged"
    names = sorted(found[0][0].index)
    assert len(names) == 40
    assert found[0][0].loc[names].equals(found[1][0].loc[names])
    assert found[0][1].loc[names].equals(found[1][1].loc[names])


def test_a_sample_has_what_the_whole_survey_has(two_surveys):
    stored = lcdvt.open_survey("new", two_surveys)
    rows = np.array([0, 3, 17, 158, 159])
    some = sampled(stored, rows)
    whole = stored.features()
    assert some.features().equals(whole.iloc[rows].reset_index(drop=True))
    labels = stored.objects().set_index("object_id")["label"]
    assert some.objects()["label"].tolist() == labels.loc[whole["object_id"].iloc[rows]].tolist()
    listed = some.ids_by_part()
    assert [star for part in sorted(listed) for star in listed[part]] == whole["object_id"].iloc[rows].tolist()


def test_a_roll_knows_what_people_said_of_a_star(two_surveys):
    stored = lcdvt.open_survey("new", two_surveys)
    ids = stored.features()["object_id"].tolist()
    roll = read_roll(stored, 0, {ids[4]: "EB", ids[7]: "BLAZAR", "nowhere": "CEP"})
    classes = ("EB", "QSO", "RRLYR")
    assert np.flatnonzero(roll.answered).tolist() == [4, 7]
    assert roll.labelled(classes)[[4, 7]].tolist() == [0, -1]
    assert roll.known_classes() == {*classes, "BLAZAR"}
    labels = stored.objects().set_index("object_id")["label"].loc[ids]
    assert roll.catalogued(classes).tolist() == [classes.index(label) for label in labels]


def test_a_survey_without_features_is_told_how_to_get_them(two_surveys, tmp_path):
    shutil.copytree(two_surveys / "new", tmp_path / "new")
    shutil.rmtree(tmp_path / "new" / "features")
    with pytest.raises(WorkspaceError, match="run `lcdvt extract new`"):
        read_roll(lcdvt.open_survey("new", tmp_path), 0)


def _with_parts_exchanged(workspace: Path, folder: Path) -> Path:
    """Return a workspace in which the parts of the survey `new` have each other's numbers, the last one the first."""
    place = shutil.copytree(workspace / "new", folder / "new")
    parts = sorted((place / "features").glob("part-*.parquet"))
    assert len(parts) > 2
    for path, content in zip(parts, [path.read_bytes() for path in reversed(parts)], strict=True):
        path.write_bytes(content)
    objects = pq.read_table(place / "objects.parquet")
    numbers = len(parts) - 1 - objects["part"].to_numpy()
    turned = objects.set_column(objects.column_names.index("part"), "part", pa.array(numbers, pa.int32()))
    pq.write_table(turned.take(np.argsort(numbers, kind="stable")), place / "objects.parquet")
    return folder
