"""Files of any kind, whole or not at all: atomic writes, locks, checksums, limited text, tables of stars."""
