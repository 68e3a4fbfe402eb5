"""One HTML page of what runs found, to send to co-authors.

The data's way, in the order of the modules::

    material      a run's folder              -> what there is to report
    predictions   predictions.parquet         -> confusion, calibration, stars worth a look; in one pass
    star_figures  light curves and features   -> figures
    svg           figures                     -> drawings that take the page's colours
    sections      all of the above            -> pieces of HTML
    page          pieces                      -> one file without network
    writing       runs                        -> the verb
"""
