"""Open the browser without showing the page's address to the other users of the machine."""

import html
import os
import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def browser_on(address: str) -> Iterator[None]:
    """Open the browser on an address while the block runs.

    The token in the address is the key to the page, and everybody on the machine can read the command lines of
    everybody's processes. So the browser is given a file that its owner alone may read, which sends it on; the file
    goes when the block ends.
    """
    try:
        handle, name = tempfile.mkstemp(prefix="lcdvt-", suffix=".html")  # with rights for its owner alone
    except OSError:  # no place for it: the address was printed
        yield
        return
    path = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(_page_that_leads_to(address))
        webbrowser.open(path.as_uri())
        yield
    finally:
        path.unlink(missing_ok=True)


def _page_that_leads_to(address: str) -> str:
    escaped = html.escape(address, quote=True)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>lcdvt</title>\n'
        f'<meta name="referrer" content="no-referrer">\n<meta http-equiv="refresh" content="0; url={escaped}">\n'
        f'</head>\n<body><a href="{escaped}">to the stars</a></body>\n</html>\n'
    )
