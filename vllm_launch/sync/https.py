"""Fetch over https: bounded in time and size, redirected to https alone, whole or not at all."""

from __future__ import annotations

import os
import ssl
from base64 import b64encode
from hashlib import sha256
from http.client import HTTPException, HTTPSConnection
from urllib.parse import unquote, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

from .. import __version__
from ..catalog.sources import is_address
from ..errors import UsageError
from .limits import SourceError, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from http.client import HTTPResponse

    from .limits import Limits

_CHUNK = 1 << 16
_REDIRECTS = (301, 302, 303, 307, 308)


class Client:
    """Gets documents, keeping connections open, and what it got, so that it is asked for once."""

    def __init__(self, limits: Limits, kept: str, ca: str | None) -> None:
        """``kept`` is a directory for what servers mark with an ETag. Raises UsageError."""
        self.limits = limits
        self.kept = kept
        self.left = limits.bytes
        self.used: set[str] = set()  # the names in ``kept`` that were of use
        self._connections: dict[str, HTTPSConnection] = {}
        try:
            self.context = ssl.create_default_context(cafile=ca)
        except OSError as error:
            held = isinstance(error, ssl.SSLError)
            reason = "it holds no certificate" if held else error.strerror
            raise UsageError(f"--ca: cannot read {ca}: {reason}") from None

    def get(self, url: str) -> bytes:
        """A document. Raises SourceError for whatever goes wrong."""
        at = url
        for _ in range(self.limits.redirects + 1):
            try:
                found = self._ask(at)
            except ssl.SSLCertVerificationError as error:
                message = f"{at}: the certificate is not trusted: {error.verify_message}"
                raise SourceError(message, hint="for a CA of your own give --ca FILE") from None
            except TimeoutError:
                idle = f"{self.limits.idle_seconds:g}"
                raise SourceError(f"{at} says nothing for {idle} s") from None
            except (OSError, HTTPException, ValueError) as error:
                raise SourceError(f"cannot fetch {at}: {_reason(error)}") from None
            if isinstance(found, bytes):
                return found
            at = found
        raise SourceError(f"{url} redirects more than {self.limits.redirects} times")

    def _ask(self, url: str) -> bytes | str:
        """A document, or the address that it is to be had from."""
        kept = self._kept(url)
        response = self._response(url, {"If-None-Match": kept[0]} if kept else {})
        status, whole = response.status, False
        try:
            if status in _REDIRECTS:
                return _target(url, response.getheader("Location", ""))
            if status == 304 and kept:
                whole = not response.read(1)
                self._take(len(kept[1]), url)
                return kept[1]
            if status != 200:
                raise SourceError(f"{url} answers {status} {shown(response.reason)}".rstrip())
            body = self._body(response, url)
            whole = True
        finally:
            if not whole:
                response.close()
                self._drop(url)
        self._keep(url, response.getheader("ETag", ""), body)
        return body

    def _response(self, url: str, headers: dict[str, str]) -> HTTPResponse:
        """The head of an answer; a connection that was closed meanwhile is opened once more."""
        parts = urlsplit(url)
        target = parts.path or "/"
        target += f"?{parts.query}" if parts.query else ""
        agent = {"User-Agent": f"vllm-launch/{__version__}", "Accept": "application/json"}
        for again in (True, False):
            reused = parts.netloc in self._connections
            connection = self._connection(parts.netloc)
            try:
                connection.request("GET", target, headers={**agent, **headers})
                return connection.getresponse()
            except (ConnectionError, HTTPException):
                self._drop(url)
                if not (reused and again):
                    raise
            except BaseException:
                self._drop(url)
                raise
        raise AssertionError

    def _connection(self, netloc: str) -> HTTPSConnection:
        found = self._connections.get(netloc)
        if found is None:
            found = self._connections[netloc] = self._connect(netloc)
        return found

    def _connect(self, netloc: str) -> HTTPSConnection:
        """A connection to a server, through the proxy that the environment names."""
        server = urlsplit(f"https://{netloc}")
        proxy = getproxies().get("https", "")
        host, timeout = server.hostname or "", self.limits.idle_seconds
        if not proxy or proxy_bypass(host):
            return HTTPSConnection(host, server.port, timeout=timeout, context=self.context)
        via = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        connection = HTTPSConnection(
            via.hostname or "", via.port, timeout=timeout, context=self.context
        )
        headers = {}
        if via.username:
            words = f"{unquote(via.username)}:{unquote(via.password or '')}".encode()
            headers["Proxy-Authorization"] = f"Basic {b64encode(words).decode()}"
        connection.set_tunnel(host, server.port or 443, headers)
        return connection

    def _drop(self, url: str) -> None:
        connection = self._connections.pop(urlsplit(url).netloc, None)
        if connection is not None:
            connection.close()

    def _body(self, response: HTTPResponse, url: str) -> bytes:
        """All of an answer's body, if it is what was promised."""
        kind = shown(response.getheader("Content-Type", "")).partition(";")[0]
        if "html" in kind:
            raise SourceError(f"{url} is a page ({kind}), not JSON")
        if response.getheader("Content-Encoding", "identity") != "identity":
            raise SourceError(f"{url} is compressed, which was not asked for")
        promised = response.length
        if promised is not None and promised > self.limits.file_bytes:
            raise SourceError(f"{url} has {promised} bytes; at most {self.limits.file_bytes}")
        parts, size = [], 0
        while chunk := response.read(_CHUNK):
            parts.append(chunk)
            size += len(chunk)
            if size > self.limits.file_bytes:
                raise SourceError(f"{url} has more than {self.limits.file_bytes} bytes")
        if promised is not None and size != promised:
            raise SourceError(f"{url} breaks off after {size} of {promised} bytes")
        self._take(size, url)
        return b"".join(parts)

    def _take(self, size: int, url: str) -> None:
        self.left -= size
        if self.left < 0:
            raise SourceError(f"with {url} it is more than {self.limits.bytes} bytes in all")

    def _path(self, url: str) -> str:
        name = sha256(url.encode()).hexdigest()
        self.used.add(name)
        return os.path.join(self.kept, name)

    def _kept(self, url: str) -> tuple[str, bytes] | None:
        """The mark and the body that a server gave for an address before."""
        try:
            with open(self._path(url), "rb") as file:
                mark, _, body = file.read(self.limits.file_bytes + _CHUNK).partition(b"\n")
        except OSError:
            return None
        return (mark.decode("latin-1"), body) if mark else None

    def _keep(self, url: str, mark: str, body: bytes) -> None:
        """Keep a body under its mark: what was got before a failure is not got again."""
        if not mark or not mark.isascii() or not mark.isprintable() or len(mark) > 200:
            return
        path = self._path(url)
        os.makedirs(self.kept, mode=0o700, exist_ok=True)
        with open(f"{path}.new", "wb") as file:
            file.write(mark.encode() + b"\n" + body)
        os.replace(f"{path}.new", path)

    def close(self) -> None:
        """Close every connection."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def forget_unused(self) -> None:
        """Remove what was kept and no longer asked for."""
        for name in os.listdir(self.kept) if os.path.isdir(self.kept) else ():
            if name not in self.used:
                os.unlink(os.path.join(self.kept, name))


def _target(url: str, location: str) -> str:
    """Where a redirect leads. Raises SourceError for anything but https."""
    target = urljoin(url, location.partition("#")[0])
    if not location or not is_address(target):
        raise SourceError(f"{url} redirects to {shown(location) or 'nowhere'}, which is not https")
    return target


def _reason(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return shown(text)
