"""What servers sent before, on the disk with the ETag that they gave it: whole, or its beginning.

A document is asked for again by its ETag, and a beginning is continued by it, so that neither a
failure elsewhere nor one in its own middle has all of it fetched once more.
"""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256

from .. import private
from ..model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from email.message import Message

_LONGEST_ETAG = 200
_HEAD = 400  # bytes before the body, at most


class Document(Record):
    """A document, or as much of it as came."""

    etag: str
    size: int  # bytes of the whole
    body: bytes

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing."""
        return len(self.body) == self.size

    @property
    def request_headers(self) -> dict[str, str]:
        """The headers that ask for what is missing, if this is still what the server has."""
        if self.is_whole:
            return {"If-None-Match": self.etag}
        return {"Range": f"bytes={len(self.body)}-", "If-Range": self.etag}

    def is_continued(self, headers: Message) -> bool:
        """Whether a part, by its headers, is exactly what is missing of the same document."""
        rest = f"bytes {len(self.body)}-{self.size - 1}/{self.size}"
        length = headers.get("Content-Length", "")
        return (
            headers.get("Content-Range", "").strip() == rest
            and headers.get("ETag", "") == self.etag
            and length in ("", str(self.size - len(self.body)))
        )


class DocumentCache:
    """The documents of one source."""

    def __init__(self, directory: str, most: int) -> None:
        """``most`` is how many bytes a document may have."""
        self.directory = directory
        self.most = most
        self.used: set[str] = set()  # the names that were of use

    def get(self, url: str) -> Document | None:
        """What there is of a document; None where that is nothing, or not as it was written."""
        try:
            with open(self._path(url), "rb") as file:
                head, body = file.readline(_HEAD), file.read(self.most + 1)
        except OSError:
            return None
        digest, _, rest = head.decode("latin-1").rstrip("\n").partition(" ")
        size, _, etag = rest.partition(" ")
        if not size.isdecimal() or digest != _digest(f"{rest}\n".encode("latin-1") + body):
            return None
        return Document(etag=etag, size=int(size), body=body)

    def keep(self, url: str, etag: str, body: bytes) -> None:
        """Keep a document with its ETag."""
        if _is_etag(etag):
            self._write(url, Document(etag=etag, size=len(body), body=body))

    def begin(self, url: str, etag: str, size: int, body: bytes) -> None:
        """Keep a document's beginning; a weak ETag may be another's too, and continues nothing."""
        if _is_etag(etag) and etag.startswith('"') and 0 < len(body) < size:
            self._write(url, Document(etag=etag, size=size, body=body))

    def forget(self, url: str) -> None:
        """Ask for all of it the next time."""
        try:
            os.unlink(self._path(url))
        except OSError:
            return

    def forget_unused(self) -> None:
        """Remove what was not asked for."""
        for name in os.listdir(self.directory) if os.path.isdir(self.directory) else ():
            if name not in self.used:
                os.unlink(os.path.join(self.directory, name))

    def _path(self, url: str) -> str:
        name = sha256(url.encode()).hexdigest()
        self.used.add(name)
        return os.path.join(self.directory, name)

    def _write(self, url: str, document: Document) -> None:
        path = self._path(url)
        rest = f"{document.size} {document.etag}\n".encode("latin-1") + document.body
        private.make(self.directory)
        partial = f"{path}.new"
        with suppress(FileNotFoundError):  # of a sync that was ended
            os.unlink(partial)
        with open(private.create(partial), "wb") as file:
            file.write(f"{_digest(rest)} ".encode() + rest)
        os.replace(partial, path)


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def _is_etag(text: str) -> bool:
    return bool(text) and text.isascii() and text.isprintable() and len(text) <= _LONGEST_ETAG
