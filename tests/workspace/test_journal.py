"""What a later part says again is taken from the earlier ones, whatever the order, and the same when read back."""

import copy
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from lcdvt.workspace.journal import REPLACED, Journal, PartRecord

NAMES = ["/a.tar", "/b.tar", "/c.dat", "/d.dat"]
SAID = ("objects", "epochs", "files", "files_skipped", "problems", "dropped_epochs")


@st.composite
def record(draw, number: int) -> PartRecord:
    stream = draw(st.one_of(st.none(), st.tuples(st.sampled_from(NAMES[:2]), st.integers(1, 2))))
    return PartRecord(
        number=number,
        finished_inputs=[],
        stream=None if stream is None else [[stream[0], stream[1], 0], 1],
        files=draw(st.integers(0, 5)),
        files_skipped=draw(st.integers(0, 3)),
        objects=50,
        epochs_read=500,
        epochs=500,
        dropped_epochs={},
        dropped_objects={},
        problems=draw(st.lists(st.sampled_from([f"{name} is damaged." for name in NAMES]), max_size=3, unique=True)),
        read_again=draw(st.lists(st.sampled_from(NAMES), max_size=2, unique=True)),
        replaced={str(draw(st.integers(0, max(number - 1, 0)))): [draw(st.integers(0, 3)), 7]} if number else {},
    )


def forget(earlier: PartRecord, later: PartRecord) -> None:
    """Take from one part what another says again: the rule, one pair of parts at a time."""
    objects, epochs = later.replaced.get(str(earlier.number), (0, 0))
    if objects:
        earlier.objects -= objects
        earlier.epochs -= epochs
        earlier.dropped_epochs[REPLACED] = earlier.dropped_epochs.get(REPLACED, 0) + epochs
    if earlier.stream is not None and earlier.stream[0][0] in later.read_again:
        if later.stream is None or earlier.stream[0] != later.stream[0]:
            earlier.files, earlier.files_skipped, earlier.problems = 0, 0, []
        return
    for name in later.read_again:
        if any(problem.startswith(f"{name} ") for problem in earlier.problems):
            earlier.files_skipped = max(earlier.files_skipped - 1, 0)
            earlier.problems = [problem for problem in earlier.problems if not problem.startswith(f"{name} ")]


@given(st.data())
@settings(max_examples=60)
def test_what_is_read_again_is_forgotten_where_it_was_said_before(data):
    records = [data.draw(record(number)) for number in range(data.draw(st.integers(1, 6)))]
    expected = copy.deepcopy(records)
    for place, later in enumerate(expected):
        for earlier in expected[:place]:
            forget(earlier, later)
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder))
        journal.begin({})
        for one in records:
            journal.add(copy.deepcopy(one))
        read_back = Journal(Path(folder))
    for found in (journal, read_back):
        for one, wanted in zip(found.records, expected, strict=True):
            assert {name: getattr(one, name) for name in SAID} == {name: getattr(wanted, name) for name in SAID}
