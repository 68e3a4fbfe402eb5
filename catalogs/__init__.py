"""What we know of each survey, and how its files are read."""
