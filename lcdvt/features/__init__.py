"""FATS features and period search."""
