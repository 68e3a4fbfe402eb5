#!/usr/bin/env bash
# The whole story on simulated surveys: raw files -> epochs, features and periods -> labels carried over -> a report.
set -euo pipefail
folder="${DEMO:-demo}"
stars="${DEMO_OBJECTS:-300}"
draws="${DEMO_DRAWS:-3}"
mkdir -p "$folder"
cd "$folder"
unset LCDVT_DATA  # the demo has a workspace of its own
rm -rf raw lcdvt-data stars.parquet report.html

run() {
  echo
  echo "\$ $*"
  "$@"
}

echo "Everything below is simulated: no number says anything about real stars."
for survey in eros macho hits; do
  run lcdvt simulate "$survey" "raw/$survey" --objects "$stars" --seed 1
  run lcdvt ingest "raw/$survey"
done
echo
python3 - <<'PYTHON'
"""Compare the periods found with those the simulator used."""
import pandas as pd

import lcdvt

rows = []
for survey in ("eros", "macho", "hits"):
    truth = pd.read_csv(f"raw/{survey}/truth.csv", dtype={"id": str}).set_index("id")
    found = lcdvt.open_survey(survey).features().set_index("object_id").join(truth[["class", "period"]], how="inner")
    found = found[found["period"].notna()]
    right = (found["Period"] / found["period"] - 1).abs() < 0.01
    half = (2 * found["Period"] / found["period"] - 1).abs() < 0.01
    for label, share in right.groupby(found["class"]).mean().items():
        of_class = found["class"] == label
        rows.append((survey, label, int(of_class.sum()), f"{share:.2f}", f"{(right | half)[of_class].mean():.2f}"))
print("simulated, seed 1: share of stars whose period is right within 1 %")
print(pd.DataFrame(rows, columns=["survey", "class", "stars", "right", "right or half"]).to_string(index=False))
PYTHON
for target in macho hits; do
  run lcdvt transfer --source eros --target "$target" --labels 5% --members 5 --repeats "$draws"
done
run lcdvt predict eros-macho macho --out stars.parquet
run lcdvt runs compare eros-macho eros-hits
run lcdvt report eros-macho eros-hits --out report.html
echo
echo "In $folder: report.html (open it in a browser), stars.parquet, raw/ (simulated surveys), lcdvt-data/ (the workspace)."
