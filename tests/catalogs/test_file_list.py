"""The compact list of input files gives back what was put in."""

import os

from hypothesis import given
from hypothesis import strategies as st

from lcdvt.catalogs.reading.file_list import FileGroups, FileList, InputFile
from lcdvt.catalogs.registry import find_survey
from lcdvt.ingestion.batches import split_streams

NAMES = st.binary(max_size=12).filter(lambda name: b"\0" not in name).map(os.fsdecode)
FILES = st.lists(st.builds(InputFile, NAMES, st.integers(0, 2**62), st.integers(-(2**62), 2**62)), max_size=8)


@given(FILES)
def test_any_name_size_and_time_comes_back(files):
    kept = FileList(files)
    assert list(kept) == files
    assert [kept[-number] for number in range(1, len(files) + 1)] == files[::-1]
    assert list(kept[1:3]) == files[1:3]


@given(FILES, st.data())
def test_groups_keep_the_order_of_their_first_files(files, data):
    chosen = [number for number in range(len(files)) if data.draw(st.booleans())]
    expected: dict[int, list[InputFile]] = {}
    groups = []
    for number in chosen:
        groups.append(data.draw(st.integers(0, len(expected))))
        expected.setdefault(groups[-1], []).append(files[number])
    found = FileGroups(FileList(files), chosen, groups)
    assert len(found) == len(expected)
    assert list(found) == list(expected.values())


def test_many_groups_come_as_few_do():
    files = [InputFile(f"{number}.dat", number, number) for number in range(5000)]
    group_of_file = [number % 2100 for number in range(len(files))]  # of two and of three files, in three blocks
    found = list(FileGroups(FileList(files), range(len(files)), group_of_file))
    assert found == [files[group::2100] for group in range(2100)]


def test_both_bands_of_a_star_are_one_group_wherever_they_stand():
    files = FileList(InputFile(name, 1, 1) for name in ("lc_1.3.4.B.mjd", "lc_1.3.5.B.mjd", "x.dat", "lc_1.3.4.R.mjd"))
    groups, streams = split_streams(find_survey("macho"), files, lambda file: file.name == "x.dat")
    assert not streams
    assert [[file.name for file in group] for group in groups] == [
        ["lc_1.3.4.B.mjd", "lc_1.3.4.R.mjd"],
        ["lc_1.3.5.B.mjd"],
    ]


def test_an_archive_is_streamed():
    groups, streams = split_streams(find_survey("hits"), FileList([InputFile("all.tar.gz", 1, 1)]), lambda _: False)
    assert not groups
    assert streams == [InputFile("all.tar.gz", 1, 1)]
