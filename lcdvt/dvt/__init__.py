"""Deep Variational Transfer: networks, objective, training and ensembles (torch only; no files, no command line)."""
