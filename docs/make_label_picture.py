"""Draw docs/label.png, the picture of `lcdvt label` in the README: `python docs/make_label_picture.py RUN WORKSPACE`.

The picture in the repository is of `lcdvt transfer --source catalina --target eros1 --preset tied --members 5`, on real
stars; headless Chromium takes it.
"""

import base64
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from helpers.headless_browser import headless_browser

PICTURE = Path(__file__).parent / "label.png"
WIDTH, HEIGHT = 1360, 980
ANSWERED = 5
"""Stars answered before the picture is taken, with the class that the model prefers: an empty round shows little."""


def main() -> None:
    """Start the page, answer some stars, take the picture; the answers go to a workspace that is thrown away."""
    run, data = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        for place in Path(data).iterdir():
            if place.name != "answers":
                (Path(scratch) / place.name).symlink_to(place.absolute())
        command = [sys.executable, "-m", "lcdvt.cli.main", "label", run, "--no-browser", "--data", scratch]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            with headless_browser(Path(scratch) / "profile") as browser:
                browser.open(address, width=WIDTH, height=HEIGHT)
                classes = browser.evaluate("fetch('api/desk').then(response => response.json())")["classes"]
                keys = {each["name"]: each["key"] for each in classes}
                queue = browser.evaluate("fetch('api/desk').then(response => response.json())")["queue"]
                browser.wait_until("document.querySelector('#star-id') !== null")
                for number in range(ANSWERED):
                    browser.press(keys[queue[number]["predicted"]])
                    following = queue[number + 1]["id"]
                    browser.wait_until(f"document.querySelector('#star-id')?.textContent === '{following}'")
                browser.wait_until("!!document.querySelector('.neighbours figure')")
                browser.wait_until("[...document.querySelectorAll('section')].every(each => !each.hidden)")
                taken = browser.call("Page.captureScreenshot")["data"]
            PICTURE.write_bytes(base64.b64decode(taken))
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)


if __name__ == "__main__":
    main()
