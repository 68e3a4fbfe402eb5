"""Spoilt files of every kind: read, or refused in a sentence; never a crash, a hang or a gulp of memory.

`python benchmarks/fuzz.py` does the same for as long as one likes, and prints figures.
"""

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from helpers.fuzz_mutations import KINDS, TOKENS, Mutation, spoil
from helpers.fuzz_targets import Target
from helpers.fuzz_targets import targets as make_targets
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.slow

EXAMPLES_PER_TARGET = 70
MEMORY_LIMIT_KIB = 1 << 20
CPU_SECONDS = 20
"""A hang; the benchmark holds inputs to two seconds, but a test says nothing of how quick a machine is."""

mutations = st.lists(
    st.builds(
        Mutation,
        kind=st.sampled_from(KINDS),
        place=st.floats(0, 1, exclude_max=True),
        extent=st.floats(0, 1),
        token=st.sampled_from(TOKENS) | st.binary(min_size=1, max_size=12),
    ),
    min_size=1,
    max_size=6,
)


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Target]:
    found = {target.name: target for target in make_targets(tmp_path_factory.mktemp("fuzz"))}
    assert sorted(found) == sorted(NAMES)
    for target in found.values():  # compiles, and shows that the examples themselves are good
        for content in target.examples:
            target.read(content)
    return found


NAMES = [
    *(f"reader: {kind}" for kind in ("eros .time", "macho .mjd", "macho archive csv", "macho bulk dump", "hits .dat")),
    *(f"reader: {kind}" for kind in ("hits psf csv", "catalina csv", "compressed")),
    *(f"reader: {kind}" for kind in ("parquet", "fits", "votable", "nested parquet")),
    *(f"reader: {kind}" for kind in ("ogle .dat", "ztf csv", "sky patrol csv", "asas blocks", "gaia wide csv")),
    *(f"reader: {kind}" for kind in ("gaia long csv", "mast csv", "ipac table", "ztf forced", "lasair json")),
    *(f"reader: {kind}" for kind in ("fink csv", "bulk parquet", "kepler fits", "atlas text", "crts csv", "ptf csv")),
    *(f"reader: {kind}" for kind in ("stripe 82", "sky patrol 2 csv", "gaia alert csv", "alerce csv", "ztf votable")),
    "reader: alert packet",
    *(f"archive: a.{kind}" for kind in ("tar", "tar.gz", "zip")),
    *(f"labels: {kind}" for kind in ("csv", "parquet", "fits", "vot")),
    *("surveys new", "which survey", "survey toml", "hats: hats.properties", "hats: collection.properties"),
    *(f"run-0.1: {name}" for name in ("config.toml", "weights.safetensors", "scaler.json", "metrics.json")),
    *("run-0.1: history.parquet", "eros: survey.toml", "eros: ingest.json", "eros: .ingest/journal.jsonl"),
    *(f"eros: {name}" for name in ("objects.parquet", "epochs/part-00000.parquet", "features/part-00000.parquet")),
    "asassn: limits/part-00000.parquet",
]


@contextmanager
def no_hang() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError("a spoilt file keeps its reader busy")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_a_spoilt_file_is_read_or_refused(targets, name):
    target = targets[name]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    @settings(max_examples=EXAMPLES_PER_TARGET, suppress_health_check=list(HealthCheck), database=None)
    @given(st.sampled_from(target.examples), mutations)
    @example(b"", [])
    def feed(content: bytes, changes: list[Mutation]) -> None:
        with no_hang():
            target.feed(spoil(content, changes))

    feed()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < MEMORY_LIMIT_KIB, f"{name} took {grown >> 10} MiB"


def test_two_thousand_inputs_are_tried():
    assert len(NAMES) * EXAMPLES_PER_TARGET >= 2000
