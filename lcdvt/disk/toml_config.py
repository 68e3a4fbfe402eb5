"""Frozen dataclasses to TOML and back, with every field checked on the way in.

A run's folder tells how the run was made: each hyper-parameter is a field of a frozen dataclass and a
line of `config.toml`. TOML has no null, so a field whose value is None is left out, and reading takes the
field's default for what is not there.
"""

import dataclasses
import types
import typing
from pathlib import Path
from typing import Any, TypeVar

import tomli_w

from lcdvt.disk.atomic import write_text
from lcdvt.disk.limited_text import TOML_LIMIT, parse_toml, read_limited
from lcdvt.errors import SettingsError

Config = TypeVar("Config")


def to_table(config: Any) -> dict[str, Any]:
    """Return the dataclass as the nested table that TOML writes."""
    table: dict[str, Any] = {}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if value is None:
            continue
        table[field.name] = _to_plain(value)
    return table


def _to_plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return to_table(value)
    if isinstance(value, tuple | list):
        return [_to_plain(item) for item in value]
    return value


def from_table(cls: type[Config], table: dict[str, Any], where: str = "config") -> Config:
    """Build the dataclass `cls` from a nested table; `where` names the table in error messages."""
    hints = typing.get_type_hints(cls)
    known = [field.name for field in dataclasses.fields(cls)]  # type: ignore[arg-type]
    unknown = sorted(set(table) - set(known))
    if unknown:
        raise SettingsError(f"{where}: there is no setting named {unknown[0]!r}; choose from {', '.join(known)}.")
    values = {name: _convert(hints[name], value, f"{where}.{name}") for name, value in table.items()}
    try:
        return cls(**values)
    except TypeError as error:
        raise SettingsError(f"{where}: a setting is missing ({error}); add it.") from error


def _convert(hint: Any, value: Any, where: str) -> Any:
    origin = typing.get_origin(hint)
    if dataclasses.is_dataclass(hint):
        if not isinstance(value, dict):
            raise SettingsError(f"{where} = {value!r}: a table of settings is needed here.")
        return from_table(typing.cast(type, hint), value, where)
    if origin is typing.Literal:
        if value not in typing.get_args(hint):
            choices = ", ".join(str(choice) for choice in typing.get_args(hint))
            raise SettingsError(f"{where} = {value!r}: choose from {choices}.")
        return value
    if origin in (typing.Union, types.UnionType):
        (inner,) = [option for option in typing.get_args(hint) if option is not type(None)]
        return _convert(inner, value, where)
    if origin is tuple:
        return _convert_tuple(hint, value, where)
    return _convert_scalar(hint, value, where)


def _convert_tuple(hint: Any, value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise SettingsError(f"{where} = {value!r}: a list is needed, like [1, 2].")
    options = typing.get_args(hint)
    if options[-1] is Ellipsis:
        return tuple(_convert(options[0], item, where) for item in value)
    if len(value) != len(options):
        raise SettingsError(f"{where} = {value!r}: exactly {len(options)} values are needed.")
    return tuple(_convert(option, item, where) for option, item in zip(options, value, strict=True))


def _convert_scalar(hint: type, value: Any, where: str) -> Any:
    # bool is an int in Python, but `steps = true` is a mistake and not one step.
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not hint:
        raise SettingsError(f"{where} = {value!r}: a value of type {hint.__name__} is needed.")
    return value


def write_toml(path: Path, config: Any, *, header: dict[str, Any] | None = None) -> None:
    """Write the dataclass to `path` whole or not at all; `header` entries come first."""
    table = {**(header or {}), **to_table(config)}
    write_text(path, tomli_w.dumps(table))


def read_table(path: Path) -> dict[str, Any]:
    """Read a TOML file as a nested table."""
    try:
        return parse_toml(read_limited(path, TOML_LIMIT))
    except FileNotFoundError as error:
        raise SettingsError(f"{path}: there is no such file; check the path.") from error
    except ValueError as error:
        raise SettingsError(f"{path}: not a TOML file ({error}); correct it at that line.") from error


def read_toml(path: Path, cls: type[Config]) -> Config:
    """Read `path` as the dataclass `cls`."""
    return from_table(cls, read_table(path), str(path))
