"""FATS features and period search.

`extract` turns epochs into features; `extract_table` does one batch; `FeatureConfig` says what to compute;
`lcdvt.features.spec` explains every feature. Kernels are compiled when first needed, so they are imported late.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "extract": "lcdvt.features.extraction",
    "extract_table": "lcdvt.features.extraction",
    "extraction_report": "lcdvt.features.extraction",
    "FeatureConfig": "lcdvt.features.config",
    "FeatureError": "lcdvt.features.spec",
    "GateReport": "lcdvt.features.gate",
    "FEATURES": "lcdvt.features.table",
    "FATS_FEATURES": "lcdvt.features.spec",
    "feature_spec": "lcdvt.features.spec",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
