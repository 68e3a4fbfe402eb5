"""FATS features and period search: epochs in, numbers out. A room that can be used alone.

`extract` turns epochs into features; `extract_table` does one batch; `FeatureConfig` says what to compute;
`lcdvt.features.spec` explains every feature. Kernels are compiled when first needed, so they are imported late.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

_HOMES = {
    "extract": "lcdvt.features.extraction",
    "extract_table": "lcdvt.features.extraction",
    "extraction_report": "lcdvt.features.extraction",
    "FeatureConfig": "lcdvt.features.config",
    "GateReport": "lcdvt.features.gate",
    "FEATURES": "lcdvt.features.table",
    "FATS_FEATURES": "lcdvt.features.spec",
    "feature_spec": "lcdvt.features.spec",
}
__all__ = sorted(_HOMES)


class _FeaturesRoom(ModuleType):
    """A room that can be called, because the command line has a verb of its name: it lists the features."""

    def __call__(self, name: str | None = None) -> Any:
        from lcdvt.features.listing import features

        return features(name)


sys.modules[__name__].__class__ = _FeaturesRoom


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
