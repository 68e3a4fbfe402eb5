"""`lcdvt features`: list the features, explain one."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from lcdvt.cli import options
from lcdvt.cli.console import out
from lcdvt.cli.results import write_json

if TYPE_CHECKING:
    from lcdvt.features.table import FeatureSpec

BANDS_NEEDED = {0: "all, one value", 1: "one", 2: "two"}

app = typer.Typer(help="List the features, or explain one.", invoke_without_command=True)


@app.callback()
def features(
    context: typer.Context,
    json_file: options.Json = None,
) -> None:
    """List every feature by family."""
    if context.invoked_subcommand is not None:
        return
    from rich.table import Table

    from lcdvt.features.table import FEATURES

    table = Table("feature", "family", "bands", "epochs ≥", "what it tells", box=None, header_style="bold")
    for spec in FEATURES.values():
        table.add_row(spec.name, spec.family, BANDS_NEEDED[spec.bands_needed], str(spec.minimum_epochs), spec.meaning)
    out.print(table)
    if json_file:
        write_json(json_file, [asdict(spec) for spec in FEATURES.values()])


def _home(spec: "FeatureSpec") -> str:
    """Return where a feature is computed: one file for each family, a folder for what the period search finds."""
    from lcdvt.features.spec import PERIOD_FAMILIES

    return "lcdvt/features/period/" if spec.family in PERIOD_FAMILIES else f"lcdvt/features/families/{spec.family}.py"


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="A feature's name, such as Eta_e.")],
    json_file: options.Json = None,
) -> None:
    """Explain one feature: definition, reference, meaning."""
    from lcdvt.features.feets.defects import REFUSED
    from lcdvt.features.spec import feature_spec
    from lcdvt.features.table import ALL_BANDS

    spec = feature_spec(name)
    out.print(spec.name, style="bold", highlight=False)
    rows = {
        "tells": spec.meaning,
        "defined as": spec.definition,
        "from": spec.reference,
        "family": f"{spec.family} ({_home(spec)})",
        "bands": BANDS_NEEDED[spec.bands_needed],
        "epochs": f"at least {spec.minimum_epochs}",
        "engine feets": f"refused: {REFUSED[name]}" if name in REFUSED else "gives it",
    }
    if spec.bands_needed == ALL_BANDS:  # no engine's, but this package's own
        del rows["engine feets"]
    for label, text in rows.items():
        out.print(f"{label:>12}  {text}", markup=False, highlight=False)
    if json_file:
        write_json(json_file, asdict(spec))
