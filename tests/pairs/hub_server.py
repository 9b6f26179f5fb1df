"""A stand-in for the hub on 127.0.0.1 that can misbehave in every way a network does."""

import hashlib
import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

COMMIT = "c" * 40


@dataclass
class Behaviour:
    """What goes wrong; each `*_once` field is used up by the first answer that shows it."""

    drop_at_once: int | None = None
    stall_at: int | None = None
    stall_s: float = 5.0
    flip_at: int | None = None
    flip_once: int | None = None
    ignore_range: bool = False
    status: int | None = None
    status_once: int | None = None
    error_code: str = ""
    error_words: str = ""
    announce: int | None = None
    pause_s: float = 0.0


@dataclass
class Seen:
    method: str
    path: str
    range: str | None
    authorization: str | None
    sent: int = 0


@dataclass
class HubServer:
    files: dict[str, bytes]
    behaviour: Behaviour = field(default_factory=Behaviour)
    seen: list[Seen] = field(default_factory=list)
    endpoint: str = ""

    def gets(self) -> list[Seen]:
        return [request for request in self.seen if request.method == "GET"]

    def sent(self) -> int:
        return sum(request.sent for request in self.gets())


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: HubServer

    def log_message(self, *_: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, *, body: bool) -> None:
        headers = self.headers
        seen = Seen(
            self.command, unquote(self.path), headers.get("Range"), headers.get("Authorization")
        )
        self.hub.seen.append(seen)
        how = self.hub.behaviour
        if how.status or (how.status_once and body):
            status, how.status_once = how.status or how.status_once or 500, None
            self.refuse(status)
        elif seen.path.startswith("/api/models/"):
            self.listing(seen.path)
        else:
            self.file(seen, body=body)

    def refuse(self, status: int) -> None:
        self.send_response(status)
        self.send_header("X-Error-Code", self.hub.behaviour.error_code)
        self.send_header("X-Error-Message", self.hub.behaviour.error_words)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def listing(self, path: str) -> None:
        repo = path.removeprefix("/api/models/").split("/tree/")[0]
        names = [name for name in self.hub.files if name.startswith(repo + "/")]
        entries = [
            {
                "type": "file",
                "oid": "0" * 40,
                "size": len(self.hub.files[name]),
                "path": name.removeprefix(repo + "/"),
            }
            for name in names
        ]
        data = json.dumps(entries).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def file(self, seen: Seen, *, body: bool) -> None:
        repo, _, rest = seen.path.lstrip("/").partition("/resolve/")
        data = self.hub.files.get(f"{repo}/{rest.partition('/')[2]}")
        if data is None:
            self.hub.behaviour.error_code = "EntryNotFound"
            self.refuse(404)
            return
        how, start = self.hub.behaviour, 0
        if body and seen.range and not how.ignore_range:
            start = int(seen.range.removeprefix("bytes=").rstrip("-"))
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("X-Linked-Size", str(how.announce or len(data)))
        self.send_header("X-Linked-Etag", f'"{hashlib.sha256(data).hexdigest()}"')
        self.send_header("ETag", f'"{hashlib.sha256(data).hexdigest()}"')
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        if body:
            self.stream(seen, data, start)

    def stream(self, seen: Seen, data: bytes, start: int) -> None:
        how, at = self.hub.behaviour, start
        flip = how.flip_at if how.flip_at is not None else how.flip_once
        how.flip_once = None
        if flip is not None:
            data = data[:flip] + bytes([data[flip] ^ 1]) + data[flip + 1 :]
        drop, how.drop_at_once = how.drop_at_once, None
        while at < len(data):
            if how.stall_at is not None and at >= how.stall_at:
                time.sleep(how.stall_s)
                self.close_connection = True
                return
            stops = [n for n in (drop, how.stall_at) if n is not None and n > at]
            end = min([len(data), at + 16_384, *stops])
            try:
                self.wfile.write(data[at:end])
            except OSError:
                self.close_connection = True
                return
            seen.sent += end - at
            at = end
            if drop is not None and at >= drop:
                self.close_connection = True
                return
            if how.pause_s:
                time.sleep(how.pause_s)


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed is no error of the server's."""


@contextmanager
def serve(files: dict[str, bytes], tls: ssl.SSLContext | None = None) -> Iterator[HubServer]:
    hub = HubServer(files)
    server = Server(("127.0.0.1", 0), type("Bound", (Handler,), {"hub": hub}))
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    scheme = "http" if tls is None else "https"
    hub.endpoint = f"{scheme}://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
