"""Light curves nested in a row per object, as HATS catalogues keep them, laid out as one row per epoch.

A nested column is a struct of lists (nested-pandas, LSDB) or a list of structs; its fields are named with a dot, as
in `lightcurve.mjd`. What stands beside it in the row, the id or the position, is repeated for each epoch.
"""

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from lcdvt.errors import InputFileError

DOT: Final = "."


def nested_fields(kind: pa.DataType) -> list[str]:
    """Return the names of a nested column's fields; none for any other column."""
    if pa.types.is_struct(kind) and kind.num_fields and all(_is_list(field.type) for field in kind):
        return [field.name for field in kind]
    if _is_list(kind) and pa.types.is_struct(kind.value_type):
        return [field.name for field in kind.value_type]
    return []


def flat_names(schema: pa.Schema) -> list[str]:
    """Return the columns of the table that `flattened` makes."""
    names: list[str] = []
    for field in schema:
        inner = nested_fields(field.type)
        names.extend(f"{field.name}{DOT}{name}" for name in inner)
        if not inner:
            names.append(field.name)
    return names


def stored_columns(schema: pa.Schema, wanted: list[str]) -> list[str]:
    """Return which columns of the file hold the wanted ones: a field of a struct is read without the others."""
    outer = {field.name for field in schema if _is_list(field.type)}
    return [name.partition(DOT)[0] if name.partition(DOT)[0] in outer else name for name in wanted]


def flattened(table: pa.Table, wanted: list[str] | None = None) -> pa.Table:
    """Return the table with one row per epoch; a table without nested columns is returned as it is.

    Parameters
    ----------
    table
        As it was read.
    wanted
        The columns needed, fields of a nested column with its name and a dot; None takes all.
    """
    nested = [field.name for field in table.schema if nested_fields(field.type)]
    asked = flat_names(table.schema) if wanted is None else [name for name in wanted if name not in nested]
    used = [name for name in nested if any(ask.startswith(f"{name}{DOT}") for ask in asked)]
    if not used:
        return table
    table = table.combine_chunks()
    parents: pa.Array | None = None
    columns: dict[str, pa.Array] = {}
    for name in used:
        rows, values = _epochs_of(name, _one_chunk(table[name]))
        if parents is not None and not rows.equals(parents):
            raise InputFileError(
                f"the columns {', '.join(used)} have different numbers of epochs: describe one of them."
            )
        parents = rows
        columns |= {f"{name}{DOT}{field}": column for field, column in values.items()}
    plain = [name for name in table.column_names if name not in nested and (wanted is None or name in asked)]
    columns |= {name: _one_chunk(table[name]).take(parents) for name in plain}
    return pa.table(columns)


def _epochs_of(name: str, column: pa.Array) -> tuple[pa.Array, dict[str, pa.Array]]:
    """Return for each epoch the row it belongs to, and the fields' values."""
    if _is_list(column.type):
        flat = pc.list_flatten(column)
        return pc.list_parent_indices(column), {field.name: pc.struct_field(flat, field.name) for field in flat.type}
    lists = {field.name: pc.struct_field(column, field.name) for field in column.type}
    first = next(iter(lists.values()))
    lengths = pc.fill_null(pc.list_value_length(first), 0)
    if any(not pc.fill_null(pc.list_value_length(other), 0).equals(lengths) for other in lists.values()):
        raise InputFileError(f"the lists of the column {name!r} differ in length within a row: it is damaged.")
    return pc.list_parent_indices(first), {field: pc.list_flatten(values) for field, values in lists.items()}


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])


def _is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
