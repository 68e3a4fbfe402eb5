"""Runs as the paper makes them: a plan of label draws, carried out and scored."""
