"""From files of any form to raw light curves."""
