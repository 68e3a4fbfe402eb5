"""Physically plausible surveys in their raw file formats, seeded, with the truth beside them.

The order of the modules is the order of the light: `star` and its classes (`pulsators`, `binaries`,
`red_giants`, `quasars`), `cadence` and `noise` of the telescopes in `surveys`, one `observation`,
the `*_files` on disk, and `simulate`, the verb.
"""
