"""HATS catalogues: nested light curves in, features and predictions out, by the hats tools' own reading and writing."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import lcdvt
from lcdvt.catalogs.reading.hats_folder import hats_partitions
from lcdvt.catalogs.reading.nested import flat_names, flattened
from lcdvt.errors import InputFileError, LcdvtError

STARS, EPOCHS = 90, 24


@pytest.fixture(scope="module")
def epochs() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    count = STARS * EPOCHS
    return pd.DataFrame(
        {
            "star": np.repeat(np.arange(STARS), EPOCHS),
            "mjd": np.tile(57000.0 + np.arange(EPOCHS) * 1.37, STARS),
            "mag": rng.normal(16, 0.2, count).round(4),
            "magerr": rng.uniform(0.01, 0.05, count).round(4),
            "band": np.tile(["g", "r"], count // 2),
        }
    )


@pytest.fixture(scope="module")
def objects() -> pd.DataFrame:
    rng = np.random.default_rng(6)
    return pd.DataFrame(
        {
            "objid": [f"s{star:03d}" for star in range(STARS)],
            "ra": rng.uniform(0, 360, STARS),
            "dec": np.degrees(np.arcsin(rng.uniform(-1, 1, STARS))),
        }
    )


@pytest.fixture(scope="module")
def collection(tmp_path_factory, epochs, objects) -> Path:
    """A HATS collection with nested light curves, written by LSDB."""
    import lsdb
    from nested_pandas import NestedFrame

    nested = NestedFrame(objects).join_nested(epochs.set_index("star"), "lightcurve")
    catalogue = lsdb.from_dataframe(
        nested, ra_column="ra", dec_column="dec", partition_rows=20, catalog_name="sky", margin_threshold=None
    )
    folder = tmp_path_factory.mktemp("hats") / "collection"
    catalogue.write_catalog(folder, catalog_name="sky", progress_bar=False)
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory, collection) -> Path:
    """The catalogue as `lcdvt surveys new` describes it and `lcdvt ingest` reads it."""
    from lcdvt.catalogs.describing.describe import describe
    from lcdvt.catalogs.describing.look import look_at

    folder = tmp_path_factory.mktemp("work")
    (folder / "sky.toml").write_text(describe("sky", look_at(collection)))
    result = lcdvt.ingest(collection, survey=folder / "sky.toml", clean="none", data=folder / "data", jobs=1)
    assert result.problems == []
    return folder / "data"


def test_every_epoch_of_a_nested_catalogue_is_read(data, collection, epochs, objects):
    survey = lcdvt.open_survey("sky", data)
    assert len(hats_partitions(collection)) > 4
    assert survey.survey.bands == ("g", "r")
    stored = survey.epochs.to_table().to_pandas().sort_values(["object_id", "mjd"]).reset_index(drop=True)
    expected = epochs.assign(object_id=[f"s{star:03d}" for star in epochs["star"]])
    for theirs, ours in (("mjd", "mjd"), ("mag", "mag"), ("magerr", "mag_err"), ("band", "band")):
        assert stored[ours].tolist() == expected[theirs].tolist()
    places = survey.objects().set_index("object_id").sort_index()
    np.testing.assert_allclose(places["ra"], objects["ra"])
    np.testing.assert_allclose(places["dec"], objects["dec"])
    assert lcdvt.verify("sky", data=data)[0].is_sound


def test_large_partitions_are_streamed_to_the_same_values(data, collection, tmp_path, monkeypatch):
    monkeypatch.setattr("lcdvt.ingestion.batches.STREAMED_FROM_BYTES", 1000)
    monkeypatch.setattr("lcdvt.catalogs.reading.tables.NESTED_ROWS_AT_ONCE", 7)
    toml = data.parent / "sky.toml"
    lcdvt.ingest(collection / "sky", survey=toml, clean="none", data=tmp_path, jobs=1, features="none")
    one, other = (lcdvt.open_survey("sky", where).epochs.to_table().to_pandas() for where in (data, tmp_path))
    order = ["object_id", "band", "mjd"]
    pd.testing.assert_frame_equal(
        one.sort_values(order).reset_index(drop=True), other.sort_values(order).reset_index(drop=True)
    )


def test_what_lies_beside_the_partitions_is_not_read(collection, tmp_path):
    copy = Path(shutil.copytree(collection / "sky", tmp_path / "sky"))
    partition = Path(hats_partitions(copy)[0])
    shutil.copy(partition, copy / "data_thumbnail.parquet")
    assert all("Npix=" in name for name in hats_partitions(copy))
    # A partition may also be a folder of files.
    split = partition.with_suffix("")
    split.mkdir()
    partition.rename(split / "part0.parquet")
    assert str(split / "part0.parquet") in hats_partitions(copy)
    assert hats_partitions(tmp_path) is None


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("collection.properties", "hats_primary_table_url=../elsewhere\n", "names no folder in this collection"),
        ("collection.properties", "obs_collection=x\n", "names no folder in this collection"),
        ("hats.properties", "dataproduct_type=margin\n", "is a HATS margin"),
        ("hats.properties", "dataproduct_type=object\n", "without partitions"),
        ("hats.properties", "x" * (2 << 20), "too large"),
    ],
)
def test_a_catalogue_that_cannot_be_read_is_one_sentence(tmp_path, name, text, said):
    (tmp_path / "dataset").mkdir()
    (tmp_path / name).write_text(text)
    with pytest.raises(InputFileError, match=said):
        hats_partitions(tmp_path)


def test_both_ways_of_nesting_give_the_same_rows():
    lists = {"mjd": [[1.0, 2.0], [], None, [3.0]], "mag": [[5.0, 6.0], [], None, [7.0]]}
    of_lists = pa.StructArray.from_arrays([pa.array(values) for values in lists.values()], list(lists))
    of_structs = pa.array([[{"mjd": 1.0, "mag": 5.0}, {"mjd": 2.0, "mag": 6.0}], [], None, [{"mjd": 3.0, "mag": 7.0}]])
    for column in (of_lists, of_structs):
        table = pa.table({"id": ["a", "b", "c", "d"], "lc": column})
        assert flat_names(table.schema) == ["id", "lc.mjd", "lc.mag"]
        flat = flattened(table, ["id", "lc.mjd", "lc.mag"]).to_pydict()
        assert flat == {"lc.mjd": [1.0, 2.0, 3.0], "lc.mag": [5.0, 6.0, 7.0], "id": ["a", "a", "d"]}
    ragged = pa.StructArray.from_arrays([pa.array([[1.0]]), pa.array([[1.0, 2.0]])], ["mjd", "mag"])
    with pytest.raises(InputFileError, match="differ in length"):
        flattened(pa.table({"lc": ragged}))
    plain = pa.table({"id": ["a"]})
    assert flattened(plain, ["id"]) is plain


@pytest.mark.slow
def test_features_come_out_as_a_catalogue_that_lsdb_joins_by_position(data, collection, tmp_path):
    import lsdb

    result = lcdvt.export("sky", tmp_path / "features", rows_per_partition=20, data=data)
    assert (result.objects, result.without_position) == (STARS, 0)
    assert result.partitions > 4
    exported = lsdb.open_catalog(tmp_path / "features")
    frame = exported.compute().set_index("object_id").sort_index()
    features = lcdvt.open_survey("sky", data).features().set_index("object_id").sort_index()
    for name in ("Mean_g", "Std_r", "Period"):
        np.testing.assert_array_equal(frame[name], features[name])
    matched = lsdb.open_catalog(collection).crossmatch(exported, radius_arcsec=0.5, require_right_margin=False,
                                                       suffixes=("_sky", "_lcdvt")).compute()  # fmt: skip
    assert len(matched) == STARS
    named = {column.partition("_")[0]: column for column in matched.columns if column.startswith(("objid", "object"))}
    assert (matched[named["objid"]] == matched[named["object"]]).all()


def test_predictions_come_out_with_positions_and_the_rest_is_said(data, tmp_path):
    import lsdb

    survey = lcdvt.open_survey("sky", data)
    run = data / "runs" / "first"
    shutil.copytree(Path(__file__).parents[1] / "data" / "run-0.1", run)
    config = run / "config.toml"
    config.write_text(config.read_text().replace('"new"', '"sky"'))
    ids = [*survey.objects()["object_id"], "stranger"]
    table = pa.table({"object_id": ids, "predicted": ["CEP"] * len(ids), "p_CEP": [1.0] * len(ids)})
    pq.write_table(table, run / "predictions.parquet")
    result = lcdvt.export("first", tmp_path / "classes", data=data)
    assert (result.objects, result.without_position) == (STARS, 1)
    frame = lsdb.open_catalog(tmp_path / "classes").compute()
    assert set(frame["predicted"]) == {"CEP"}
    with pytest.raises(LcdvtError, match="exists: use force=True"):
        lcdvt.export("first", tmp_path / "classes", data=data)
    lcdvt.export("first", tmp_path / "classes", data=data, force=True)
    with pytest.raises(LcdvtError, match="is no HATS catalogue"):
        lcdvt.export("first", tmp_path, data=data, force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["classes"]


@pytest.mark.slow
def test_the_command_and_its_refusals(lcdvt, data, tmp_path):
    answer = lcdvt("export", "--hats", "sky", tmp_path / "out", "--data", data, "--json", "exported.json")
    assert answer.returncode == 0, answer.stderr
    assert json.loads((tmp_path / "exported.json").read_text())["objects"] == STARS
    assert f"{STARS} objects of sky" in answer.stdout
    for arguments, said in ((["sky", "x"], "--hats"), (["--hats", "mars", "x"], "there is no run 'mars'")):
        refused = lcdvt("export", *arguments, "--data", data)
        assert (refused.returncode, said in refused.stderr) == (2, True), refused.stderr


@pytest.mark.parametrize("missing", [2, STARS])
def test_stars_whose_position_is_null_are_counted_and_left_out(data, tmp_path, missing):
    copy = Path(shutil.copytree(data, tmp_path / "data"))
    objects = copy / "sky" / "objects.parquet"
    table = pq.read_table(objects)
    gone = pa.array(np.arange(table.num_rows) < missing)
    for name in ("ra", "dec"):
        values = pc.if_else(gone, pa.scalar(None, pa.float64()), table[name])
        table = table.set_column(table.column_names.index(name), name, values)
    pq.write_table(table, objects)
    if missing == STARS:
        with pytest.raises(LcdvtError, match="no object of sky has a position"):
            lcdvt.export("sky", tmp_path / "out", data=copy)
    else:
        result = lcdvt.export("sky", tmp_path / "out", data=copy)
        assert (result.objects, result.without_position) == (STARS - missing, missing)


def test_a_partition_has_at_least_one_row(data, tmp_path, lcdvt_here):
    refused = lcdvt_here("export", "--hats", "sky", tmp_path / "out", "--rows-per-partition", "0", "--data", data)
    assert (refused.returncode, "--rows-per-partition" in refused.stderr) == (2, True), refused.stderr
    with pytest.raises(LcdvtError, match="rows_per_partition=0: a partition has at least one row"):
        lcdvt.export("sky", tmp_path / "out", rows_per_partition=0, data=data)
    assert not (tmp_path / "out").exists()


def test_a_survey_without_positions_cannot_be_exported(tmp_path):
    from helpers.raw_files import write_eros

    write_eros(tmp_path / "raw", "lm001", [(300.0 + day, 15.0 + day % 7 / 9, 0.02, 16.0, 0.03) for day in range(20)])
    lcdvt.ingest(tmp_path / "raw", data=tmp_path / "data", jobs=1, features=["Mean"])
    with pytest.raises(LcdvtError, match="no object of eros has a position"):
        lcdvt.export("eros", tmp_path / "out", data=tmp_path / "data")
