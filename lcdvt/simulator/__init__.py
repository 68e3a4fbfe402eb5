"""Physically plausible surveys in their raw file formats, seeded, with the truth beside them.

The order of the modules is the order of the light: `star`, its `spectra` and its classes (`pulsators`, `binaries`,
`red_giants`, `quasars`), which know it at any wavelength; `cadence` and the errors (`noise` of surveys with their own
magnitudes, `photometry` of calibrated ones) of each `survey`, in `surveys_past` and `surveys_today`; one `observation`,
the `*_files` on disk, and `simulate`, the verb.
"""
