"""Fetch over https: bounded in time and size, redirected to https alone, whole or not at all."""

from __future__ import annotations

import ssl
from base64 import b64encode
from http.client import HTTPException, HTTPSConnection
from urllib.parse import unquote, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

from .. import __version__
from ..catalog.sources import is_address
from ..errors import UsageError
from .cache import DocumentCache
from .limits import SourceError, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from http.client import HTTPResponse

    from .cache import Document
    from .limits import Limits

_CHUNK = 1 << 12  # what is lost at most of what came, where a server falls silent
_REDIRECTS = (301, 302, 303, 307, 308)


class Client:
    """Gets documents, keeping connections open, and what it got, so that it is asked for once."""

    def __init__(self, limits: Limits, cache: str, ca: str | None) -> None:
        """``cache`` is a directory for documents with their ETags. Raises UsageError."""
        self.limits = limits
        self.cache = DocumentCache(cache, limits.file_bytes)
        self.left = limits.bytes
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
        kept = self.cache.get(url)
        response = self._response(url, kept.request_headers if kept else {})
        status, whole = response.status, False
        try:
            if status in _REDIRECTS:
                return _target(url, response.getheader("Location", ""))
            if kept is not None and kept.is_whole and status == 304:
                whole = not response.read(1)
                self._take(kept.size, url)
                return kept.body
            begun = kept if kept is not None and not kept.is_whole else None
            part = begun is not None and status == 206
            if begun and (status == 416 or (part and not begun.is_continued(response.headers))):
                self.cache.forget(url)
                return url  # all of it
            if status != 200 and not part:
                raise SourceError(f"{url} answers {status} {shown(response.reason)}".rstrip())
            body = self._body(response, url, begun if part else None)
            whole = True
            return body
        finally:
            if not whole:
                response.close()
                self._drop(url)

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

    def _body(self, response: HTTPResponse, url: str, begun: Document | None) -> bytes:
        """All of a document, if it is what was promised, behind what there is of it already."""
        self._refuse(response, url)
        etag, size = response.getheader("ETag", ""), begun.size if begun else response.length
        if size is not None and size > self.limits.file_bytes:
            raise SourceError(f"{url} has {size} bytes; at most {self.limits.file_bytes}")
        body = bytearray(begun.body if begun else b"")
        try:
            while chunk := response.read(_CHUNK):
                body += chunk
                if len(body) > self.limits.file_bytes:
                    raise SourceError(f"{url} has more than {self.limits.file_bytes} bytes")
            if size is not None and len(body) != size:
                raise SourceError(f"{url} breaks off after {len(body)} of {size} bytes")
        except BaseException:
            if size is not None:
                self.cache.begin(url, etag, size, bytes(body))
            raise
        self._take(len(body), url)
        # That two answers are one document is the server's word: it is not taken for good.
        if begun:
            self.cache.forget(url)
        else:
            self.cache.keep(url, etag, bytes(body))
        return bytes(body)

    def _refuse(self, response: HTTPResponse, url: str) -> None:
        """Raise SourceError for what is no document."""
        kind = shown(response.getheader("Content-Type", "")).partition(";")[0]
        if "html" in kind:
            raise SourceError(f"{url} is a page ({kind}), not JSON")
        if response.getheader("Content-Encoding", "identity") != "identity":
            raise SourceError(f"{url} is compressed, which was not asked for")

    def _take(self, size: int, url: str) -> None:
        self.left -= size
        if self.left < 0:
            raise SourceError(f"with {url} it is more than {self.limits.bytes} bytes in all")

    def close(self) -> None:
        """Close every connection."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()


def _target(url: str, location: str) -> str:
    """Where a redirect leads. Raises SourceError for anything but https."""
    target = urljoin(url, location.partition("#")[0])
    if not location or not is_address(target):
        raise SourceError(f"{url} redirects to {shown(location) or 'nowhere'}, which is not https")
    return target


def _reason(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return shown(text)
