"""Compiled functions: how they are declared, kept on disk, and compiled ahead."""
