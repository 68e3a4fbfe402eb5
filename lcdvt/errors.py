"""What a user did or gave that cannot work, said in one sentence."""


class LcdvtError(Exception):
    """A problem the user can solve: what is wrong, where, what to do.

    The command line prints the message without a traceback and ends with exit code 2.
    """


class InputFileError(LcdvtError):
    """A file cannot be read as what it should be."""


class SurveyError(LcdvtError):
    """A survey is unknown, ambiguous or wrongly described."""


class WorkspaceError(LcdvtError):
    """The workspace lacks something, or holds something damaged."""
