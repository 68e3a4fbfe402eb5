"""Light curves nested in a row per object, as HATS catalogues keep them, laid out as one row per epoch.

A nested column is a struct of lists (nested-pandas, LSDB) or a list of structs; its fields are named with a dot, as
in `lightcurve.mjd`. Lists that stand side by side in the row (ZTF's bulk files) keep their own names. What stands
beside them, the id or the position, is repeated for each epoch; a field of a plain struct is named with a dot, too.
An alert has its newest epoch beside the list of the earlier ones: `newest` names the struct that holds it.
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
        inner = nested_fields(field.type) or _struct_fields(field.type)
        names.extend(f"{field.name}{DOT}{name}" for name in inner)
        if not inner:
            names.append(field.name)
    return names


def has_lists(schema: pa.Schema, wanted: list[str]) -> bool:
    """Say whether a wanted column is a list, or in one: each row is a whole light curve then."""
    asked = {*wanted, *(name.partition(DOT)[0] for name in wanted)}
    return any(field.name in asked and (_is_list(field.type) or nested_fields(field.type)) for field in schema)


def stored_columns(schema: pa.Schema, wanted: list[str], newest: str = "") -> list[str]:
    """Return which columns of the file hold the wanted ones: a field of a struct is read without the others."""
    outer = {field.name for field in schema if _is_list(field.type)}
    stored = [name.partition(DOT)[0] if name.partition(DOT)[0] in outer else name for name in wanted]
    return [*stored, newest] if newest else stored


def _struct_fields(kind: pa.DataType) -> list[str]:
    return [field.name for field in kind] if pa.types.is_struct(kind) else []


def flattened(table: pa.Table, wanted: list[str] | None = None, newest: str = "") -> pa.Table:
    """Return the table with one row per epoch; a table without nested columns is returned as it is.

    Parameters
    ----------
    table
        As it was read.
    wanted
        The columns needed, fields of a nested column with its name and a dot; None takes all.
    newest
        A struct that holds one more epoch of the nested list; empty for none.
    """
    if newest:
        table = _with_newest(table, wanted or [], newest)
    table = _without_structs(table, wanted)
    nested = [field.name for field in table.schema if nested_fields(field.type)]
    asked = flat_names(table.schema) if wanted is None else [name for name in wanted if name not in nested]
    used = [name for name in nested if any(ask.startswith(f"{name}{DOT}") for ask in asked)]
    lists = [field.name for field in table.schema if _is_plain_list(field.type) and (field.name in asked)]
    if not used and not lists:
        return table
    table = table.combine_chunks()
    parents: pa.Array | None = None
    columns: dict[str, pa.Array] = {}
    for name in [*used, *lists]:
        column = _one_chunk(table[name])
        if name in lists:
            rows, values = pc.list_parent_indices(column), {"": pc.list_flatten(column)}
        else:
            rows, values = _epochs_of(name, column)
        if parents is not None and not rows.equals(parents):
            raise InputFileError(
                f"the columns {', '.join([*used, *lists])} have different numbers of epochs: describe one of them."
            )
        parents = rows
        columns |= {f"{name}{DOT}{field}" if field else name: epochs for field, epochs in values.items()}
    plain = [
        name
        for name in table.column_names
        if name not in nested and name not in lists and (wanted is None or name in asked)
    ]
    columns |= {name: _one_chunk(table[name]).take(parents) for name in plain}
    return pa.table(columns)


def _without_structs(table: pa.Table, wanted: list[str] | None) -> pa.Table:
    """Return the table with the fields of its plain structs as columns of their own."""
    for field in table.schema:
        if _struct_fields(field.type) and not nested_fields(field.type):
            for inner in _struct_fields(field.type):
                name = f"{field.name}{DOT}{inner}"
                if (wanted is None or name in wanted) and name not in table.column_names:
                    table = table.append_column(name, pc.struct_field(table[field.name], inner))
            table = table.drop_columns([field.name])
    return table


def _with_newest(table: pa.Table, wanted: list[str], newest: str) -> pa.Table:
    """Put each row's newest epoch, a struct of its own, into the list of the earlier ones."""
    inside = {field.name for field in table.schema if _is_list(field.type) or pa.types.is_null(field.type)}
    history = next((name.partition(DOT)[0] for name in wanted if name.partition(DOT)[0] in inside), None)
    if history is None or newest not in table.column_names:
        return table
    fields = [name.partition(DOT)[2] for name in wanted if name.partition(DOT)[0] == history]
    rows = [
        [{field: epoch.get(field) for field in fields} for epoch in [*(earlier or ()), own] if epoch]
        for earlier, own in zip(table[history].to_pylist(), table[newest].to_pylist(), strict=True)
    ]
    return table.set_column(table.column_names.index(history), history, pa.array(rows))


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


def _is_plain_list(kind: pa.DataType) -> bool:
    return _is_list(kind) and not pa.types.is_struct(kind.value_type)


def _is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
