"""Which labels of a catalogue the light curves contradict.

The data's way, in the order of the modules::

    subject               a survey or a run           -> stars with labels, and who may judge them
    opinions              features, other surveys     -> class probabilities that no star's own label has touched
    confident_learning    probabilities and labels    -> scores, suggested classes
    neighbours            features                    -> labelled stars that look alike
    page                  the most doubtful           -> one HTML file with folded light curves
    doubt                 a survey or a run           -> the verb
"""
