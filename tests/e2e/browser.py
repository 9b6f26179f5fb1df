"""Headless Chromium, driven over chromedriver's plain HTTP on loopback; no package needed.

The browser can reach no network: every name fails to resolve and a dead proxy stands before the
rest. Whatever a page asks for is in its log.
"""

import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chrome")
CHROMEDRIVER = shutil.which("chromedriver")
MISSING = (
    "needs Chromium and chromedriver (Debian: apt-get install chromium chromium-driver)"
    if not (CHROMIUM and CHROMEDRIVER)
    else ""
)
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=127.0.0.1:9",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--window-size=1000,900",
)
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Right": "\ue014", "Left": "\ue012", "Space": " "}


@dataclass
class Browser:
    """One browser window."""

    address: str
    session: str = ""

    def start(self, *, scripts: bool = True) -> None:
        """Open the window."""
        options: dict[str, Any] = {"binary": CHROMIUM, "args": list(FLAGS)}
        if not scripts:
            options["prefs"] = {"profile.managed_default_content_settings.javascript": 2}
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        answer = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.session = f"/session/{answer['sessionId']}"

    def open(self, page: Path) -> None:
        """Load a file."""
        self._call("POST", f"{self.session}/url", {"url": page.resolve().as_uri()})

    def js(self, script: str, *arguments: object) -> Any:
        """Run a script that returns a value."""
        body = {"script": script, "args": list(arguments)}
        return self._call("POST", f"{self.session}/execute/sync", body)

    def text(self, selector: str) -> str:
        """Give an element's text as a user sees it."""
        return str(self.js("return document.querySelector(arguments[0]).innerText", selector))

    def click(self, selector: str) -> None:
        """Click with the mouse: fails when something lies over the element."""
        self._call("POST", f"{self.session}/element/{self._find(selector)}/click", {})

    def press(self, selector: str, *keys: str) -> None:
        """Put the focus somewhere and press keys."""
        self.js("document.querySelector(arguments[0]).focus()", selector)
        self.keys(*keys)

    def keys(self, *keys: str) -> None:
        """Press keys wherever the focus is."""
        strokes = [
            {"type": kind, "value": KEYS.get(key, key)}
            for key in keys
            for kind in ("keyDown", "keyUp")
        ]
        actions = [{"type": "key", "id": "keyboard", "actions": strokes}]
        self._call("POST", f"{self.session}/actions", {"actions": actions})

    def devtools(self, command: str, **parameters: object) -> Any:
        """Send a DevTools command."""
        body = {"cmd": command, "params": parameters}
        return self._call("POST", f"{self.session}/goog/cdp/execute", body)

    def accessible(self) -> list[dict[str, Any]]:
        """Give what a screen reader is told, once the browser has put it together."""
        nodes: list[dict[str, Any]] = []
        for _ in range(100):
            nodes = self.devtools("Accessibility.getFullAXTree")["nodes"]
            if len(nodes) > 100:
                break
            time.sleep(0.05)
        return nodes

    def size(self, width: int, height: int, *, scale: float = 1) -> None:
        """Make the window as large as a device."""
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=width < 500,
        )

    def scheme(self, name: str) -> None:
        """Prefer `light` or `dark`."""
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.devtools("Emulation.setEmulatedMedia", features=features)

    def picture(self, path: Path, *, selector: str = "", margin: int = 0) -> None:
        """Save what is seen, or one element with all of it."""
        clip = {}
        if selector:
            box = self.js(
                "const b = document.querySelector(arguments[0]).getBoundingClientRect();"
                "return [b.x + scrollX, b.y + scrollY, b.width, b.height]",
                selector,
            )
            x, y, width, height = box
            area = {
                "x": max(x - margin, 0),
                "y": max(y - margin, 0),
                "width": width + 2 * margin,
                "height": height + 2 * margin,
            }
            clip = {"clip": {**area, "scale": 1}}
        shot = self.devtools("Page.captureScreenshot", captureBeyondViewport=bool(clip), **clip)
        path.write_bytes(b64decode(shot["data"]))

    def complaints(self) -> list[str]:
        """Give what the console says."""
        log = self._call("POST", f"{self.session}/se/log", {"type": "browser"})
        return [entry["message"] for entry in log]

    def requests(self) -> list[str]:
        """Give every address that was asked for."""
        log = self._call("POST", f"{self.session}/se/log", {"type": "performance"})
        messages = [json.loads(entry["message"])["message"] for entry in log]
        return [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]

    def close(self) -> None:
        """Close the window."""
        if self.session:
            self._call("DELETE", self.session)

    def _find(self, selector: str) -> str:
        body = {"using": "css selector", "value": selector}
        return str(self._call("POST", f"{self.session}/element", body)[ELEMENT])

    def _call(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, method=method)
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as failure:
            with failure:
                raise AssertionError(json.load(failure)["value"]["message"]) from None


@contextmanager
def browser(*, scripts: bool = True) -> Iterator[Browser]:
    """Start chromedriver and a window; close both."""
    assert CHROMEDRIVER
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    driver = subprocess.Popen(
        [CHROMEDRIVER, f"--port={port}", "--silent"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    window = Browser(f"http://127.0.0.1:{port}")
    try:
        _wait_for(port)
        window.start(scripts=scripts)
        yield window
    finally:
        try:
            window.close()
        finally:
            driver.terminate()
            driver.wait(timeout=20)


def _wait_for(port: int) -> None:
    for _ in range(300):
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("chromedriver did not start")
