"""A real server on this machine, with TLS of the tests' own authority, that misbehaves as told."""

from __future__ import annotations

import os
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

Answer = Callable[["Handler"], None]

_CA = """\
[req]
distinguished_name = name
[name]
[ca]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[leaf]
basicConstraints = CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = DNS:localhost
"""


def certify(directory: Path) -> tuple[Path, Path]:
    """An authority, and a certificate and key of localhost by it; the file of each."""
    (directory / "openssl.cnf").write_text(_CA)
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    for words in (
        ("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2",
         "-subj", "/CN=an authority of tests", "-config", "openssl.cnf", "-extensions", "ca"),
        ("req", "-new", *key, "-keyout", "leaf.key", "-out", "leaf.csr", "-subj", "/CN=localhost",
         "-config", "openssl.cnf"),
        ("x509", "-req", "-in", "leaf.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-set_serial",
         "2", "-days", "2", "-out", "leaf.crt", "-extfile", "openssl.cnf", "-extensions", "leaf"),
    ):  # fmt: skip
        subprocess.run(["openssl", *words], cwd=directory, check=True, capture_output=True)
    both = directory / "leaf.pem"
    both.write_text((directory / "leaf.crt").read_text() + (directory / "leaf.key").read_text())
    return directory / "ca.pem", both


class Handler(BaseHTTPRequestHandler):
    """Answers by what the server was told of a path."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append((self.path, dict(self.headers)))
        path = urlsplit(self.path).path
        if path.startswith("/git/"):
            self.git()
            return
        answer = self.server.answers.get(path)
        if answer is None:
            self.say(404, b"not here", "text/plain")
        else:
            answer(self)

    do_POST = do_GET

    def say(self, status: int, body: bytes, kind: str = "application/json", **headers: str) -> None:
        """A whole, honest answer."""
        self.head(status, {"Content-Type": kind, "Content-Length": str(len(body)), **headers})
        self.wfile.write(body)

    def head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def hang(self) -> None:
        """Say nothing more until the test is over."""
        self.close_connection = True
        self.server.over.wait(30)

    def git(self) -> None:
        """Hand over to git's own server program."""
        parts = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else self.chunks()
        env = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.server.repositories),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            "PATH_INFO": parts.path.removeprefix("/git"),
            "QUERY_STRING": parts.query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_ADDR": "127.0.0.1",
        }
        if self.server.before_git is not None:
            self.server.before_git(self)
        done = subprocess.run(
            ["git", "http-backend"], input=body, env=env, capture_output=True, check=False
        )
        said, _, answer = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in said.decode().split("\r\n"))
        status = int(headers.pop("Status", "200").split()[0])
        self.say(status, answer, headers.pop("Content-Type"), **headers)

    def chunks(self) -> bytes:
        body = b""
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        return body

    def log_message(self, *_: Any) -> None:
        """Nothing: the tests' output is for the tests."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, certificate: Path, repositories: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self.socket = context.wrap_socket(
            self.socket, server_side=True, do_handshake_on_connect=False
        )
        self.repositories = repositories
        self.forget()

    def forget(self) -> None:
        """Begin anew, for the next test."""
        self.answers: dict[str, Answer] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.before_git: Answer | None = None
        self.over = threading.Event()

    @property
    def url(self) -> str:
        return f"https://localhost:{self.server_address[1]}"

    def handle_error(self, *_: Any) -> None:
        """A client that breaks off is what is tested."""


@contextmanager
def running(certificate: Path, repositories: Path) -> Iterator[Server]:
    """A server that answers as long as it is needed."""
    server = Server(certificate, repositories)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
