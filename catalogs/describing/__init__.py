"""A survey's description written from one of its files."""
