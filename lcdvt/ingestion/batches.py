"""Cut a survey's files into batches of objects, lazily and always in the same way.

Three kinds of input: small files, read by the worker that gets them; archives, read here as a stream; large
files of many objects, cut here at object boundaries. Nothing larger than a few batches is ever in memory.
"""

import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lcdvt.catalogs.file_format import Format
from lcdvt.catalogs.reading.detect import HEAD_BYTES, TABLE_MAGIC, Match, TextLayout, match_survey, whole_path
from lcdvt.catalogs.reading.file_list import FileGroups, FileList, InputFile
from lcdvt.catalogs.reading.files import ExpansionGuard, archive_members, bare_name, open_stream
from lcdvt.catalogs.reading.peek import peek
from lcdvt.catalogs.reading.reader import Piece
from lcdvt.catalogs.survey import Survey
from lcdvt.errors import InputFileError, first_line

if TYPE_CHECKING:
    from lcdvt.catalogs.reading.scan import Scan

FEWEST_BATCHES: Final = 16
"""Enough to keep several workers busy to the end."""
SMALLEST_BATCH: Final = 16
"""Fewer objects make parts whose overhead outweighs them."""
LARGEST_BATCH: Final = 512
"""More would only make each step of progress longer."""
BATCH_BYTES: Final = 8 << 20
"""Bounds a worker's memory where objects are long."""
STREAMED_FROM_BYTES: Final = 1 << 20
"""A many-object file above this size is cut into batches instead of being read whole by one worker."""
LONGEST_LINE: Final = 1 << 20
"""No row of numbers is longer: such a file is no table."""


@dataclass(frozen=True)
class Batch:
    """Pieces whose objects make one part; no object has pieces in another batch."""

    pieces: tuple[Piece, ...]
    finished_inputs: tuple[InputFile, ...]
    stream: tuple[InputFile, int] | None = None


def batch_size(objects: int) -> int:
    """Return how many objects a batch holds: few enough to share the work, many enough to make decent parts.

    It depends on the input alone, never on the machine, so that the same input gives the same parts.
    """
    return min(max(-(-objects // FEWEST_BATCHES), SMALLEST_BATCH), LARGEST_BATCH)


def _objects_at_once(objects: int, path: Path) -> int:
    """Return how many objects of a large file a batch holds: fewer where they are long."""
    of_this_length = BATCH_BYTES * objects // max(path.stat().st_size, 1)
    return max(1, min(batch_size(objects), of_this_length))


def split_streams(
    survey: Survey, files: FileList, was_finished: Callable[[InputFile], bool]
) -> tuple[FileGroups, list[InputFile]]:
    """Return the small files that are not finished, grouped by object, and the files that are streamed.

    Where one file of an object is not finished (it is new, or was mended) its finished ones come along: an object is
    read as a whole. Not so where two of its files are of one band, as those of two data releases are, or a copy: read
    together the second would be left out, whichever that is. What is stored of the star then decides.
    """
    streams: list[InputFile] = []
    numbers, group_of_number = array("q"), array("q")
    group_of_object: dict[str, int] = {}
    groups = 0
    for number, file in enumerate(files):
        if was_finished(file):
            continue
        if file.is_archive or (file.size > STREAMED_FROM_BYTES and _holds_many(survey, file.path)):
            streams.append(file)
            continue
        numbers.append(number)
        key = object_key(survey, file.name)
        group = group_of_object.setdefault(key, groups) if key else groups
        group_of_number.append(group)
        groups += group == groups
    if group_of_object and len(numbers) + len(streams) < len(files):
        finished: dict[int, list[int]] = {}
        for number, file in enumerate(files):
            group = group_of_object.get(object_key(survey, file.name), -1)
            if group >= 0 and was_finished(file):
                finished.setdefault(group, []).append(number)
        of_group = {group: list(known) for group, known in finished.items()}
        for number, group in zip(numbers, group_of_number, strict=True):
            if group in finished:
                of_group[group].append(number)
        for group, known in finished.items():
            bands = [_band_in_name(survey, files[number].name) for number in of_group[group]]
            if len(set(bands)) == len(bands):
                numbers.extend(known)
                group_of_number.extend([group] * len(known))
    return FileGroups(files, numbers, group_of_number), streams


def _holds_many(survey: Survey, path: Path) -> bool:
    try:
        with open_stream(path) as stream:
            head = stream.read(HEAD_BYTES)
        match = match_survey(survey, str(path), head, peek(head, path))
    except InputFileError:
        return False
    if not isinstance(match, Match) or match.format.refused:
        return False
    return match.format.many_objects and match.format.type in ("text", "parquet")


def object_key(survey: Survey, name: str) -> str:
    """Return what files of one object share: the parts of its name that are not the band; empty if it is on its own."""
    return "\0".join(value for key, value in _parts_of_name(survey, name).items() if key != "band" and value)


def _band_in_name(survey: Survey, name: str) -> str:
    """Return the band that a file of an object names, or else its name without folders, which tells a copy."""
    return _parts_of_name(survey, name).get("band") or bare_name(name)


def _parts_of_name(survey: Survey, name: str) -> dict[str, str | None]:
    """Return what the name of a file says where the files of one object are several; nothing if it is on its own."""
    bare = bare_name(name)
    for form in survey.formats:
        if form.splits_objects_by_band and (form.file_name or form.path):
            found = re.search(form.file_name, bare) if form.file_name else re.search(form.path, whole_path(name))
            if found:
                return found.groupdict()
    return {}


def file_batches(groups: Iterable[list[InputFile]], batch_objects: int) -> Iterator[Batch]:
    """Batch the small files."""
    chosen: list[InputFile] = []
    objects = size = 0
    for group in groups:
        chosen.extend(group)
        objects += 1
        size += sum(file.size for file in group)
        if objects >= batch_objects or size >= BATCH_BYTES:
            yield _of_files(chosen)
            chosen, objects, size = [], 0, 0
    if chosen:
        yield _of_files(chosen)


def _of_files(files: list[InputFile]) -> Batch:
    return Batch(tuple(Piece(file.name, on_disk=True) for file in files), tuple(files))


def stream_batches(survey: Survey, file: InputFile, already_done: int) -> Iterator[Batch]:
    """Batch an archive or a large file of many objects, leaving out the batches that are done already."""
    previous: list[Piece] | None = None
    number = 0
    try:
        for pieces in _stream_pieces(survey, file):
            if previous is not None:
                number += 1
                if number > already_done:
                    yield Batch(tuple(previous), (), (file, number))
            previous = pieces
    except InputFileError as error:
        previous = [*(previous or []), Piece(file.name, problem=str(error))]
    yield Batch(tuple(previous or ()), (file,), (file, number + 1))


def _stream_pieces(survey: Survey, file: InputFile) -> Iterator[list[Piece]]:
    if file.is_archive:
        yield from _archive_pieces(survey, file.path)
        return
    with open_stream(file.path) as stream:
        head = stream.read(HEAD_BYTES)
    match = match_survey(survey, str(file.path), head, peek(head, file.path))
    if isinstance(match, str):
        yield [Piece(file.name, problem=f"{file.path} is not a light curve of {survey.name}: {match}.")]
    elif match.format.type == "parquet":
        yield from _parquet_pieces(match, file.path)
    else:
        yield from _text_pieces(match, file.path)


def _archive_pieces(survey: Survey, path: Path) -> Iterator[list[Piece]]:
    expected = _members_per_object(survey, path)
    size_limit = batch_size(len(expected))
    waiting: dict[str, list[Piece]] = {}
    ready: list[Piece] = []
    objects = size = 0
    try:
        for member in archive_members(path):
            key = object_key(survey, member.name) or member.name
            waiting.setdefault(key, []).append(Piece(member.name, content=member.content, problem=member.refused))
            if len(waiting[key]) < expected.get(key, 1):
                continue
            complete = waiting.pop(key)
            ready.extend(complete)
            objects += 1
            size += sum(len(piece.content) for piece in complete)
            if objects >= size_limit or size >= BATCH_BYTES:
                yield ready
                ready, objects, size = [], 0, 0
    except InputFileError as error:  # what came before the damage is as good as ever
        ready.append(Piece(str(path), problem=str(error)))
    ready.extend(piece for pieces in waiting.values() for piece in pieces)
    if ready:
        yield ready


def _members_per_object(survey: Survey, path: Path) -> dict[str, int]:
    """Count each object's files in an archive, because a star's B and R files may stand far apart in it."""
    expected: dict[str, int] = {}
    try:
        for member in archive_members(path, contents=False):
            key = object_key(survey, member.name) or member.name
            expected[key] = expected.get(key, 0) + 1
    except InputFileError:
        return expected
    return expected


def _blocks(stream: BinaryIO, path: Path) -> Iterator[bytes]:
    """Yield whole lines in blocks of a few megabytes."""
    guard = ExpansionGuard(path)
    rest = b""
    while block := stream.read(BATCH_BYTES // 2):
        guard.add(len(block))
        cut = block.rfind(b"\n") + 1
        if cut == 0 and len(rest) + len(block) > LONGEST_LINE:
            raise InputFileError(f"{path} has a line of over {LONGEST_LINE >> 20} MiB: it is no table of light curves.")
        if cut == 0:
            rest += block
            continue
        yield rest + block[:cut]
        rest = block[cut:]
    if rest:
        yield rest


def _text_pieces(match: Match, path: Path) -> Iterator[list[Piece]]:
    from lcdvt.catalogs.reading.text import scan_ids

    form, layout = match.format, match.layout
    assert layout is not None  # a text format's match always carries the layout
    objects = _count_objects(form, layout, path)
    if objects is None:
        yield [Piece(str(path), on_disk=True, match=match)]
        return
    size_limit = _objects_at_once(objects, path)
    with open_stream(path) as stream:
        stream.read(layout.body)
        pending, line = b"", layout.body_line
        for block in _blocks(stream, path):
            pending += block
            scan = scan_ids(form, layout._replace(body=0), pending)
            cut = 0
            # The last object of the block may go on in the next one: it stays pending.
            for row in _first_rows(scan)[size_limit - 1 :: size_limit]:
                here = int(scan.line_start[row])
                yield [_text_block(match, layout, path, pending[cut:here], line)]
                line += pending.count(b"\n", cut, here)
                cut = here
            pending = pending[cut:]
        if pending:
            yield [_text_block(match, layout, path, pending, line)]


def _first_rows(scan: "Scan") -> NDArray[np.int64]:
    """Return where objects begin, but the first: a broken line before that still names the object belongs to it."""
    good = np.flatnonzero(scan.fault == 0)
    hashes = scan.text_hash[good]
    starts = good[np.flatnonzero(np.concatenate(([False], hashes[1:] != hashes[:-1])))]
    for place, row in enumerate(starts):
        while scan.fault[row - 1] and scan.text_hash[row - 1] == scan.text_hash[row]:
            row -= 1
        starts[place] = row
    return starts


def _text_block(match: Match, layout: TextLayout, path: Path, content: bytes, line: int) -> Piece:
    return Piece(str(path), content=content, match=match._replace(layout=layout._replace(body=0, body_line=line)))


def _count_objects(form: Format, layout: TextLayout, path: Path) -> int | None:
    """Count the objects of a file, or return None where the rows of an object do not stand together."""
    from lcdvt.catalogs.reading.text import scan_ids

    runs = 0
    seen: list[NDArray[np.uint64]] = []
    last: np.uint64 | None = None
    with open_stream(path) as stream:
        stream.read(layout.body)
        for block in _blocks(stream, path):
            scan = scan_ids(form, layout._replace(body=0), block)
            hashes = scan.text_hash[scan.fault == 0]  # a broken line tells nothing of whose it is
            if hashes.size == 0:
                continue
            starts = hashes[np.concatenate(([last is None or hashes[0] != last], hashes[1:] != hashes[:-1]))]
            runs += starts.size
            seen.append(starts)
            last = hashes[-1]
    return runs if _all_differ(seen) else None


def _all_differ(hashes: list[NDArray[np.uint64]]) -> bool:
    """Say whether no hash comes twice; sorted in place, because a set would take ten times the memory."""
    together = np.concatenate(hashes) if hashes else np.empty(0, dtype=np.uint64)
    together.sort()
    return not (together[1:] == together[:-1]).any()


def _parquet_pieces(match: Match, path: Path) -> Iterator[list[Piece]]:
    from lcdvt.catalogs.reading.tables import parquet_batches

    form = match.format
    with path.open("rb") as file:
        is_plain = file.read(HEAD_BYTES).startswith(TABLE_MAGIC["parquet"])
    if not is_plain:  # compressed as a whole: it cannot be read in pieces
        yield [Piece(str(path), on_disk=True, match=match)]
        return
    objects = _count_parquet_objects(match, path)
    if objects is None:
        yield [Piece(str(path), on_disk=True, match=match)]
        return
    size_limit = _objects_at_once(objects, path)
    pending: pa.Table | None = None
    for table in parquet_batches(path, form):
        pending = table if pending is None else pa.concat_tables([pending, table])
        ids = _ids(match, pending, path)
        starts = np.flatnonzero(np.concatenate(([False], ids[1:] != ids[:-1])))
        cut = 0
        for row in starts[size_limit - 1 :: size_limit]:
            yield [Piece(str(path), match=match, table=pending.slice(cut, row - cut).combine_chunks())]
            cut = int(row)
        pending = pending.slice(cut)
    if pending is not None and pending.num_rows:
        yield [Piece(str(path), match=match, table=pending.combine_chunks())]


def _count_parquet_objects(match: Match, path: Path) -> int | None:
    """Count the objects of a file by their ids alone; None where the rows of an object do not stand together."""
    import pandas as pd

    from lcdvt.catalogs.reading.tables import parquet_batches

    seen: list[NDArray[np.uint64]] = []
    last: object = None
    for table in parquet_batches(path, match.format, ids_alone=True):
        ids = _ids(match, table, path)
        if ids.size:
            begins = np.concatenate(([ids[0] != last], ids[1:] != ids[:-1]))
            seen.append(pd.util.hash_array(ids[begins]))
            last = ids[-1]
    return sum(map(len, seen)) if _all_differ(seen) else None


def _ids(match: Match, table: pa.Table, path: Path) -> NDArray[Any]:
    from lcdvt.catalogs.reading.tables import id_strings

    try:
        return id_strings(match.format, table, match.groups)
    except pa.ArrowException as error:
        raise InputFileError(f"{path}: the ids cannot be read as text: {first_line(error)}.") from error
