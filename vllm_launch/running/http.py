"""A small HTTP client: every exchange has an end in time and in bytes, and no proxy is asked."""

from __future__ import annotations

import http.client
import socket
import threading
from contextlib import contextmanager

from ..model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .address import Address

MOST = 16 << 20  # bytes of an answer
_CHUNK = 1 << 16
_SHORTEST_KEY = 8
_ENDED = "the connection ended in the middle of the answer"


class Asked(Record):
    """A request."""

    method: str = "GET"
    path: str
    body: bytes | None = None
    content_type: str = "application/json"
    key: str | None = None  # sent as a bearer token, to this address alone


class Reply(Record):
    """An answer, or as much of it as came."""

    status: int
    kind: str = ""  # its content type
    body: bytes = b""
    location: str = ""  # where a redirect leads
    cut: str = ""  # why there is no more of it; "": it is whole

    @property
    def ended(self) -> bool:
        """Whether the other end broke it off, and not this one."""
        return self.cut == _ENDED


class NoReply(Exception):
    """No answer at all.

    ``silent``: something took the request and never answered. ``final``: waiting does not mend it.
    """

    def __init__(self, what: str, *, silent: bool = False, final: bool = False) -> None:
        super().__init__(what)
        self.what = what
        self.silent = silent
        self.final = final


class _Socket(http.client.HTTPConnection):
    """A connection by a socket in the file system."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class _Secure(http.client.HTTPSConnection):
    """By TLS. Where no word leaves this machine its certificate is not looked at.

    That is for the name by which others reach it, and often signed by nobody who is known here.
    """

    def connect(self) -> None:
        import ssl

        http.client.HTTPConnection.connect(self)
        context = ssl.create_default_context()
        if _is_here(self.sock):
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        self.sock = context.wrap_socket(
            self.sock, server_hostname=self.host, do_handshake_on_connect=False
        )
        self.sock.do_handshake()  # on a socket that the deadline knows


def _is_here(connected: socket.socket) -> bool:
    """Whether a connection's other end is this machine's."""
    return bool(connected.getpeername()[0] == connected.getsockname()[0])


def exchange(address: Address, asked: Asked, seconds: float, most: int = MOST) -> Reply:
    """Send a request and read the answer, within so many seconds in all.

    Redirects are not followed: a key must not go elsewhere. Raises NoReply.
    """
    connection = _connection(address, seconds)
    connected = False
    with _deadline(connection, seconds) as expired:
        try:
            connection.connect()
            connected = True
            connection.request(
                asked.method, address.prefix + asked.path, asked.body, _headers(asked)
            )
            response = connection.getresponse()
            return _read(response, most, expired, seconds, asked.key)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise _no_reply(error, connected, expired.is_set(), seconds) from None
        finally:
            connection.close()


def _read(
    response: http.client.HTTPResponse,
    most: int,
    expired: threading.Event,
    seconds: float,
    key: str | None,
) -> Reply:
    """An answer to its end. What comes is kept, whatever ends it."""
    chunks: list[bytes] = []
    size, cut = 0, ""
    wanted = response.length
    try:
        while size <= most and (chunk := response.read1(_CHUNK)):
            chunks.append(chunk)
            size += len(chunk)
    except TimeoutError:  # a silence of all the seconds there are
        expired.set()
    except (OSError, http.client.HTTPException, ValueError):
        cut = _ENDED
    if wanted is not None and size < wanted:
        cut = _ENDED
    if expired.is_set():
        cut = f"the answer was not whole after {seconds:g} s"
    if size > most:
        cut = f"the answer is longer than {most >> 20} MiB"
    return Reply(
        status=response.status,
        kind=(response.getheader("Content-Type") or "").partition(";")[0].strip().lower(),
        body=_without_key(b"".join(chunks)[:most], key),
        location=response.getheader("Location") or "",
        cut=cut,
    )


def _without_key(body: bytes, key: str | None) -> bytes:
    """An answer that does not repeat the key: what is in it is shown."""
    if not key or len(key) < _SHORTEST_KEY:
        return body  # it stands in other words too
    return body.replace(key.encode("utf-8", "surrogateescape"), b"***")


def _headers(asked: Asked) -> Mapping[str, str]:
    headers = {"Accept": "*/*", "Connection": "close"}
    if asked.body is not None:
        headers["Content-Type"] = asked.content_type
    if asked.key is not None:
        headers["Authorization"] = f"Bearer {asked.key}"
    return headers


def _connection(address: Address, seconds: float) -> http.client.HTTPConnection:
    if address.socket:
        return _Socket(address.socket, seconds)
    kind = _Secure if address.secure else http.client.HTTPConnection
    return kind(address.host, address.port, timeout=seconds)


@contextmanager
def _deadline(connection: http.client.HTTPConnection, seconds: float) -> Iterator[threading.Event]:
    """An end for the whole: a timeout of the socket's counts anew with every byte."""
    expired = threading.Event()

    def end() -> None:
        expired.set()
        try:
            if connection.sock is not None:
                connection.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it ended by itself

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield expired
    finally:
        timer.cancel()
        timer.join()  # a process with a thread in it is not to be forked


def _no_reply(error: Exception, connected: bool, expired: bool, seconds: float) -> NoReply:
    if expired or isinstance(error, TimeoutError):
        if connected:
            return NoReply(f"took the request, and did not answer in {seconds:g} s", silent=True)
        return NoReply(f"no connection in {seconds:g} s")
    if isinstance(error, ConnectionRefusedError | FileNotFoundError):
        return NoReply("nothing listens there")
    if (refusal := _refusal(error)) is not None:
        return refusal
    if isinstance(error, ConnectionError):
        return NoReply("the connection was closed without an answer")
    if isinstance(error, http.client.HTTPException):
        return NoReply("what answers there does not speak HTTP")
    if isinstance(error, UnicodeError):
        return NoReply("the request cannot be written: a key has to be of ASCII characters")
    said = getattr(error, "strerror", None) or str(error)
    return NoReply(str(said))


def _refusal(error: Exception) -> NoReply | None:
    """What TLS says of one that it does not take; None for what may be otherwise in a moment."""
    import ssl

    if not isinstance(error, ssl.SSLError) or isinstance(error, ssl.SSLEOFError):
        return None
    if isinstance(error, ssl.SSLCertVerificationError):
        what = f"its certificate is not trusted: {error.verify_message.rstrip('.')}"
        return NoReply(f"{what} (SSL_CERT_FILE names one that is)", final=True)
    if error.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST"):
        return NoReply("what answers there does not speak TLS", final=True)
    return NoReply(
        f"TLS fails: {(error.reason or 'unknown').replace('_', ' ').lower()}", final=True
    )
