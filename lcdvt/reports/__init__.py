"""One HTML page of what runs found, to send to co-authors.

The data's way, in the order of the modules::

    material      a run's folder              -> what there is to report
    predictions   predictions.parquet         -> a sample, and stars worth a look; in one pass
    svg           figures                     -> drawings that take the page's colours
    scores        tables and draws            -> pieces of HTML
    label_curves  tables of several runs      -> pieces of HTML
    stars         features                    -> pieces of HTML
    gallery       light curves                -> pieces of HTML
    page          pieces                      -> one file without network
    write         runs                        -> the verb
"""
