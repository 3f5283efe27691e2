"""The published JSON, from a server that does what it should, and from one that does not."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.sync.conftest import LIMITS, Synced, held, revisions
from tests.sync.server import Answer, Handler, Server
from vllm_launch.catalog.shelf import Shelf
from vllm_launch.catalog.sources import current_of, name_of, parse
from vllm_launch.errors import UsageError
from vllm_launch.sync import store
from vllm_launch.sync.limits import Limits, SourceError, within
from vllm_launch.sync.source import Telling, Wish, sync

SHORT = LIMITS.replace(seconds=2)
IDLE = LIMITS.replace(idle_seconds=2)


def recipe(recipe_id: str = "org/repo", title: str = "One", **more: Any) -> bytes:
    return json.dumps(
        {
            "hf_id": recipe_id,
            "meta": {"title": title},
            "model": {"model_id": recipe_id},
            "variants": {"default": {}},
            "recommended_command": {"strategy": "single_node_tp"},
            **more,
        }
    ).encode()


def index(*ids: object) -> bytes:
    return json.dumps([{"hf_id": each, "json": f"/{each}.json"} for each in ids]).encode()


def honest(body: bytes, **headers: str) -> Answer:
    return lambda handler: handler.say(200, body, **headers)


@pytest.fixture
def site(server: Server) -> Server:
    """A site with two recipes."""
    server.answers["/models.json"] = honest(index("org/repo", "org/other"))
    server.answers["/org/repo.json"] = honest(recipe())
    server.answers["/org/other.json"] = honest(recipe("org/other"))
    return server


def test_an_index_is_synced_and_served_offline(site: Server, synced: Synced, cache: Path) -> None:
    url = f"{site.url}/models.json"
    outcome = synced(url)
    assert (outcome.changed, outcome.broken, outcome.current.recipes) == (True, {}, 2)
    assert (outcome.current.kind, outcome.current.url) == ("json", url)
    site.answers.clear()
    found = Shelf([url]).find("org/repo")
    assert found.recipe.meta.title == "One"
    assert (found.origin.source, found.origin.revision) == (url, outcome.current.revision)
    assert Path(found.path).is_relative_to(cache)


def test_another_recipe_than_is_listed_is_refused(site: Server, synced: Synced) -> None:
    site.answers["/org/other.json"] = honest(recipe("org/repo"))
    with pytest.raises(SourceError) as caught:
        synced(f"{site.url}/models.json")
    assert caught.value.message == (
        f"{site.url}/org/other.json is the recipe 'org/repo', "
        f"and {site.url}/models.json lists org/other there"
    )


def test_one_recipe_is_a_source_too(server: Server, synced: Synced) -> None:
    server.answers["/x/repo.json"] = honest(recipe())
    synced(f"{server.url}/x/repo.json")
    assert held(f"{server.url}/x/repo.json")[1] == "One"


def test_variants_of_other_recipes_are_not_asked_for(site: Server, synced: Synced) -> None:
    entries = [{"hf_id": "org/repo"}, {"hf_id": "org/repo-FP8", "derived_from": "org/repo"}]
    site.answers["/models.json"] = honest(json.dumps(entries).encode())
    assert synced(f"{site.url}/models.json").current.recipes == 1


def test_the_same_again_changes_nothing(site: Server, synced: Synced) -> None:
    first, second = synced(f"{site.url}/models.json"), synced(f"{site.url}/models.json")
    assert (second.changed, second.current.revision) == (False, first.current.revision)
    assert second.current.previous == ""


def test_the_revision_before_is_kept_and_older_ones_are_not(
    site: Server, synced: Synced, cache: Path
) -> None:
    url = f"{site.url}/models.json"
    seen = []
    for title in ("One", "Two", "Three"):
        site.answers["/org/repo.json"] = honest(recipe(title=title))
        outcome = synced(url)
        seen.append(outcome.current.revision)
        assert held(url)[1] == title
    assert outcome.current.previous == seen[1]
    assert revisions(cache, url) == set(seen[1:])


def test_one_connection_serves_all(site: Server, synced: Synced) -> None:
    ports = set()
    for path, answer in list(site.answers.items()):

        def noting(handler: Handler, answer: Answer = answer) -> None:
            ports.add(handler.client_address[1])
            answer(handler)

        site.answers[path] = noting
    synced(f"{site.url}/models.json")
    assert len(ports) == 1


def test_a_connection_that_was_closed_is_opened_again(site: Server, synced: Synced) -> None:
    def closing(handler: Handler) -> None:
        handler.say(200, index("org/repo", "org/other"))
        handler.close_connection = True  # without saying so

    site.answers["/models.json"] = closing
    assert synced(f"{site.url}/models.json").current.recipes == 2


def marked(body: bytes, mark: str = '"v1"') -> Answer:
    """An answer with an ETag, which is not given twice."""

    def answer(handler: Handler) -> None:
        if handler.headers.get("If-None-Match") == mark:
            handler.head(304, {"ETag": mark})
        else:
            handler.say(200, body, ETag=mark)

    return answer


def test_what_is_there_is_not_fetched_again_even_after_a_failure(
    site: Server, synced: Synced
) -> None:
    url = f"{site.url}/models.json"
    site.answers["/org/repo.json"] = marked(recipe())
    whole = site.answers.pop("/org/other.json")
    with pytest.raises(SourceError):
        synced(url)
    site.answers["/org/other.json"] = whole
    site.asked.clear()
    assert synced(url).current.recipes == 2
    [headers] = [headers for path, headers in site.asked if path == "/org/repo.json"]
    assert headers["If-None-Match"] == '"v1"'
    assert held(url)[1] == "One"


def test_what_is_kept_of_old_addresses_goes(site: Server, synced: Synced, cache: Path) -> None:
    url = f"{site.url}/models.json"
    site.answers["/org/repo.json"] = marked(recipe())
    site.answers["/org/other.json"] = marked(recipe("org/other"))
    synced(url)
    kept = cache / "vllm-launch/sources" / name_of(url) / "http"
    assert len(list(kept.iterdir())) == 2
    site.answers["/models.json"] = honest(index("org/repo"))
    synced(url)
    assert len(list(kept.iterdir())) == 1


def test_redirects_within_https_are_followed(site: Server, synced: Synced) -> None:
    site.answers["/old.json"] = lambda handler: handler.say(302, b"", Location="/models.json")
    site.answers["/org/repo.json"] = lambda handler: handler.say(
        308, b"", Location=f"{site.url}/there/repo.json"
    )
    site.answers["/there/repo.json"] = honest(recipe(title="There"))
    synced(f"{site.url}/old.json")
    assert held(f"{site.url}/old.json")[1] == "There"


def test_no_secret_of_the_home_is_sent(site: Server, synced: Synced) -> None:
    synced(f"{site.url}/models.json")
    assert not any("Authorization" in headers for _, headers in site.asked)


# What a server can do wrong. Each: what the index then answers, and what is said.


def promised(size: int, body: bytes) -> Answer:
    def answer(handler: Handler) -> None:
        handler.head(200, {"Content-Type": "application/json", "Content-Length": str(size)})
        handler.wfile.write(body)
        handler.close_connection = True

    return answer


def endless(handler: Handler) -> None:
    """A body without a length, and without an end."""
    handler.head(200, {"Content-Type": "application/json", "Connection": "close"})
    handler.close_connection = True
    while not handler.server.over.is_set():
        handler.wfile.write(b" " * 65536)


def endless_chunks(handler: Handler) -> None:
    handler.head(200, {"Content-Type": "application/json", "Transfer-Encoding": "chunked"})
    handler.close_connection = True
    while not handler.server.over.is_set():
        handler.wfile.write(b"10000\r\n" + b" " * 65536 + b"\r\n")


def broken_chunks(handler: Handler) -> None:
    handler.head(200, {"Content-Type": "application/json", "Transfer-Encoding": "chunked"})
    handler.wfile.write(b"5\r\n[1,2,\r\nzz\r\n")
    handler.close_connection = True


def half_chunk(handler: Handler) -> None:
    handler.head(200, {"Content-Type": "application/json", "Transfer-Encoding": "chunked"})
    handler.wfile.write(b"500\r\n[1,2,")
    handler.close_connection = True


def dripping(handler: Handler) -> None:
    """A byte now and then: never idle, never done."""
    handler.head(200, {"Content-Type": "application/json", "Connection": "close"})
    handler.close_connection = True
    while not handler.server.over.wait(0.02):
        handler.wfile.write(b" ")


def dripping_head(handler: Handler) -> None:
    handler.close_connection = True
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
    while not handler.server.over.wait(0.02):
        handler.wfile.write(b"x")


def hanging_body(handler: Handler) -> None:
    handler.head(200, {"Content-Type": "application/json", "Content-Length": "100"})
    handler.wfile.write(b"[")
    handler.hang()


def raw(data: bytes) -> Answer:
    def answer(handler: Handler) -> None:
        handler.wfile.write(data)
        handler.close_connection = True

    return answer


def cut(handler: Handler) -> None:
    handler.close_connection = True
    handler.connection.close()


def redirect(location: str, status: int = 302) -> Answer:
    return lambda handler: handler.say(status, b"", Location=location)


PLAIN = LIMITS
BAD: dict[str, tuple[Answer, Limits, str]] = {
    "500": (lambda h: h.say(500, b"oh"), PLAIN, "{url} answers 500 Internal Server Error"),
    "404": (lambda h: h.say(404, b"no"), PLAIN, "{url} answers 404 Not Found"),
    "204": (lambda h: h.say(204, b""), PLAIN, "{url} answers 204 No Content"),
    "304 unasked": (lambda h: h.say(304, b""), PLAIN, "{url} answers 304 Not Modified"),
    "206": (lambda h: h.say(206, b"[]"), PLAIN, "{url} answers 206 Partial Content"),
    "escapes in the reason": (
        raw(b"HTTP/1.1 500 \x1b[31mred\r\nContent-Length: 0\r\n\r\n"),
        PLAIN,
        "{url} answers 500 [31mred",
    ),
    "hangs before its head": (Handler.hang, IDLE, "{url} says nothing for 2 s"),
    "hangs in its body": (hanging_body, IDLE, "{url} says nothing for 2 s"),
    "drips": (dripping, SHORT, "{url} takes longer than 2 s"),
    "drips its head": (dripping_head, SHORT, "{url} takes longer than 2 s"),
    "cut off at once": (
        cut, PLAIN, "cannot fetch {url}: Remote end closed connection without response"
    ),
    "no HTTP": (raw(b"SSH-2.0-x\r\n"), PLAIN, "cannot fetch {url}: SSH-2.0-x"),
    "cut off": (promised(100, b"[1,"), PLAIN, "{url} breaks off after 3 of 100 bytes"),
    "half a chunk": (half_chunk, PLAIN, "cannot fetch {url}: IncompleteRead(0 bytes read)"),
    "broken chunks": (broken_chunks, PLAIN, "cannot fetch {url}: IncompleteRead(5 bytes read)"),
    "a page": (
        lambda h: h.say(200, b"<html>", "text/html; charset=utf-8"),
        PLAIN,
        "{url} is a page (text/html), not JSON",
    ),
    "compressed": (
        lambda h: h.say(200, b"\x1f\x8b", Content_Encoding="gzip"),
        PLAIN,
        "{url} is compressed, which was not asked for",
    ),
    "no JSON": (
        honest(b"{'a': 1}"),
        PLAIN,
        "{url} is not JSON: not valid JSON: a key in double quotes was expected here",
    ),
    "empty": (honest(b""), PLAIN, "{url} is not JSON: not valid JSON: a value was expected here"),
    "not UTF-8": (honest(b'["\xff"]'), PLAIN, "{url} is not JSON: byte 0xff is not UTF-8"),
    "nested without end": (
        honest(b"[" * 100_000), PLAIN, "{url} is not JSON: nested more than 64 levels deep"
    ),
    "a key twice": (
        honest(b'{"hf_id": "a/b", "hf_id": "c/d"}'),
        PLAIN,
        "{url} cannot be used: duplicate key 'hf_id'; the first is on line 1",
    ),
    "another shape": (
        honest(b'{"models": []}'),
        PLAIN,
        "{url} is neither an index of recipes nor a recipe: it has no hf_id",
    ),
    "a list of words": (
        honest(b'["a/b"]'),
        PLAIN,
        "{url} is neither an index of recipes nor a recipe: entry 1 has no hf_id",
    ),
    "a number": (
        honest(b"5"), PLAIN, "{url} is neither an index of recipes nor a recipe: it has no hf_id"
    ),
    "nothing in it": (honest(b"[]"), PLAIN, "{url} lists no recipes"),
    "huge, and says so": (
        promised(10**12, b" "), PLAIN, "{url} has 1000000000000 bytes; at most 1048576"
    ),
    "huge, without a length": (endless, PLAIN, "{url} has more than 1048576 bytes"),
    "huge, in chunks": (endless_chunks, PLAIN, "{url} has more than 1048576 bytes"),
    "to http": (
        redirect("http://localhost/x"),
        PLAIN,
        "{url} redirects to http://localhost/x, which is not https",
    ),
    "to a file": (
        redirect("file:///etc/passwd"),
        PLAIN,
        "{url} redirects to file:///etc/passwd, which is not https",
    ),
    "to a password": (
        redirect("https://me:x@localhost/"),
        PLAIN,
        "{url} redirects to https://me:x@localhost/, which is not https",
    ),
    "to nowhere": (redirect(""), PLAIN, "{url} redirects to nowhere, which is not https"),
    "in a circle": (redirect("/models.json"), PLAIN, "{url} redirects more than 5 times"),
    "a way out": (
        honest(index("org/repo", "../x")),
        PLAIN,
        "{url}: entry 2 has the hf_id '../x', which is no id",
    ),
    "a way far out": (
        honest(index("../../../victim")),
        PLAIN,
        "{url}: entry 1 has the hf_id '../../../victim', which is no id",
    ),
    "absolute": (
        honest(index("/etc/passwd")),
        PLAIN,
        "{url}: entry 1 has the hf_id '/etc/passwd', which is no id",
    ),
    "a NUL": (
        honest(index("a/b\0")), PLAIN, "{url} cannot be used: the character U+0000 is not allowed"
    ),
    "overlong": (
        honest(index("a/" + "x" * 300)),
        PLAIN,
        "{url}: entry 1 has the hf_id '" + "a/" + "x" * 98 + "', which is no id",
    ),
    "a command": (
        honest(index("a/$(id)")), PLAIN, "{url}: entry 1 has the hf_id 'a/$(id)', which is no id"
    ),
    "hidden": (honest(index("a/.b")), PLAIN, "{url}: entry 1 has the hf_id 'a/.b', which is no id"),
    "an option": (
        honest(index("-a/b")),
        PLAIN,
        "{url}: entry 1 has the hf_id '-a/b', which is no id",
    ),
    "a backslash": (
        honest(index("a/..\\b")),
        PLAIN,
        "{url}: entry 1 has the hf_id 'a/..\\\\b', which is no id",
    ),
    "in another case": (
        honest(index("org/repo", "org/Repo")),
        PLAIN,
        (
            "{url} has two files that differ only in case: 'models/org/repo.json', "
            "'models/org/Repo.json'"
        ),
    ),
    "a folder in another case": (
        honest(index("org/repo", "Org/x")),
        PLAIN,
        "{url} has two folders that differ only in case: 'models/org', 'models/Org'",
    ),
    "too many": (
        honest(index(*(f"a/{i}" for i in range(4)))),
        LIMITS.replace(files=3),
        "{url} lists 4 recipes; at most 3",
    ),
    "a recipe that is not there": (
        honest(index("org/repo", "org/gone")),
        PLAIN,
        "{base}/org/gone.json answers 404 Not Found",
    ),
    "too much together": (
        honest(index("org/repo", "org/other")),
        LIMITS.replace(bytes=300),
        "with {base}/org/other.json it is more than 300 bytes in all",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("answer", "limits", "told"), BAD.values(), ids=BAD)
def test_what_goes_wrong_is_said_and_leaves_what_was_there(
    site: Server, synced: Synced, cache: Path, answer: Answer, limits: Limits, told: str
) -> None:
    url = f"{site.url}/models.json"
    synced(url)
    before = held(url)
    site.answers["/models.json"] = answer
    with pytest.raises(SourceError) as caught:
        synced(url, limits)
    assert caught.value.message == told.format(url=url, base=site.url)
    assert caught.value.exit_status == 2
    assert held(url) == before
    assert revisions(cache, url) == {before[0].revision}


@pytest.mark.parametrize(
    "answer", [BAD["500"][0], BAD["a page"][0], cut], ids=["500", "page", "cut"]
)
def test_a_site_that_is_half_down(
    site: Server, synced: Synced, cache: Path, answer: Answer
) -> None:
    url = f"{site.url}/models.json"
    synced(url)
    before = held(url)
    site.answers["/org/repo.json"] = honest(recipe(title="Two"))
    site.answers["/org/other.json"] = answer
    with pytest.raises(SourceError, match=r"/org/other\.json"):
        synced(url)
    assert held(url) == before
    assert revisions(cache, url) == {before[0].revision}


def test_a_first_sync_that_fails_leaves_nothing_to_serve(
    site: Server, synced: Synced, cache: Path
) -> None:
    url = f"{site.url}/models.json"
    site.answers["/models.json"] = honest(b"[")
    with pytest.raises(SourceError):
        synced(url)
    assert current_of(parse(url).name) is None
    assert revisions(cache, url) == set()
    with pytest.raises(UsageError, match="has not been synced"):
        Shelf([url])


def test_nobody_listens(synced: Synced, server: Server) -> None:
    import socket

    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"https://localhost:{closed.getsockname()[1]}/models.json"
        with pytest.raises(SourceError) as caught:
            synced(url)
    assert caught.value.message == f"cannot fetch {url}: Connection refused"


def test_a_certificate_that_nobody_vouches_for(site: Server, said: list[str]) -> None:
    url = f"{site.url}/models.json"
    telling = Telling(line=said.append, step=said.append, count=said.append)
    with pytest.raises(SourceError) as caught:
        sync(parse(url), Wish(), LIMITS, telling)
    assert caught.value.message.startswith(f"{url}: the certificate is not trusted: ")
    assert caught.value.hint == "for a CA of your own give --ca FILE"


def test_a_certificate_of_another_host(site: Server, synced: Synced) -> None:
    url = f"{site.url}/models.json".replace("localhost", "127.0.0.1")
    with pytest.raises(SourceError) as caught:
        synced(url)
    assert f"{url}: the certificate is not trusted: " in caught.value.message


def test_the_authority_may_be_named_by_the_environment(
    site: Server, said: list[str], ca: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", ca)
    telling = Telling(line=said.append, step=said.append, count=said.append)
    outcome = sync(parse(f"{site.url}/models.json"), Wish(), LIMITS, telling)
    assert outcome.current.recipes == 2


@pytest.mark.parametrize("text", [None, "nothing"], ids=["missing", "no certificate"])
def test_an_authority_that_cannot_be_read(
    site: Server, said: list[str], cache: Path, text: str | None
) -> None:
    file = cache / "ca.pem"
    cache.mkdir()
    if text is not None:
        file.write_text(text)
    telling = Telling(line=said.append, step=said.append, count=said.append)
    with pytest.raises(UsageError) as caught:
        sync(parse(f"{site.url}/models.json"), Wish(ca=str(file)), LIMITS, telling)
    reason = "No such file or directory" if text is None else "it holds no certificate"
    assert caught.value.message == f"--ca: cannot read {file}: {reason}"


# What was cut off is continued where it broke off, or fetched whole: never put together wrongly.

LONG = recipe(title="Long", guide="word " * 4000)


def ranged(body: bytes, mark: str = '"v1"', first: int = 9000) -> Answer:
    """Breaks off the first time; then serves what is asked for, as the standard says."""
    cuts = [first]

    def answer(handler: Handler) -> None:
        wanted = handler.headers.get("Range", "")
        headers = {"Content-Type": "application/json", "ETag": mark}
        if wanted and handler.headers.get("If-Range") == mark:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            headers["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
            part, status = body[start:], 206
        else:
            part, status = body, 200
        handler.head(status, {**headers, "Content-Length": str(len(part))})
        cut_at = cuts.pop() if cuts else len(part)
        handler.wfile.write(part[:cut_at])
        handler.close_connection = cut_at < len(part)

    return answer


@pytest.fixture
def broken_off(site: Server, synced: Synced) -> str:
    """The address of a site, one file of which broke off after 9,000 bytes."""
    url = f"{site.url}/models.json"
    site.answers["/org/repo.json"] = ranged(LONG)
    with pytest.raises(SourceError) as caught:
        synced(url)
    told = f"{site.url}/org/repo.json breaks off after 9000 of {len(LONG)} bytes"
    assert caught.value.message == told
    site.asked.clear()
    return url


def asked_for(site: Server, path: str = "/org/repo.json") -> list[str]:
    return [headers.get("Range", "all") for at, headers in site.asked if at == path]


def test_what_was_cut_off_is_continued(
    site: Server, synced: Synced, broken_off: str, cache: Path
) -> None:
    assert synced(broken_off).broken == {}
    assert asked_for(site) == ["bytes=9000-"]
    assert held(broken_off)[1] == "Long"
    file = Shelf([broken_off]).find("org/repo").path
    assert Path(file).read_bytes() == LONG
    # That it was one document is the server's word, so it is fetched whole the next time.
    site.asked.clear()
    assert not synced(broken_off).changed
    assert asked_for(site) == ["all"]


def test_what_falls_silent_is_continued_too(site: Server, synced: Synced) -> None:
    whole = ranged(LONG, first=len(LONG))

    def silent(handler: Handler) -> None:
        site.answers["/org/repo.json"] = whole
        handler.head(200, {"ETag": '"v1"', "Content-Length": str(len(LONG))})
        handler.wfile.write(LONG[:10_000])
        handler.hang()

    site.answers["/org/repo.json"] = silent
    url = f"{site.url}/models.json"
    with pytest.raises(SourceError, match="says nothing for"):
        synced(url, IDLE)
    site.asked.clear()
    synced(url)
    [wanted] = asked_for(site)
    assert 10_000 - 4096 <= int(wanted.removeprefix("bytes=").removesuffix("-")) <= 10_000
    assert Path(Shelf([url]).find("org/repo").path).read_bytes() == LONG


def test_a_document_comes_in_as_many_pieces_as_it_takes(
    site: Server, synced: Synced, broken_off: str
) -> None:
    site.answers["/org/repo.json"] = ranged(LONG, first=5000)
    with pytest.raises(SourceError, match=f"breaks off after 14000 of {len(LONG)} bytes"):
        synced(broken_off)
    synced(broken_off)
    assert asked_for(site) == ["bytes=9000-", "bytes=14000-"]
    assert Path(Shelf([broken_off]).find("org/repo").path).read_bytes() == LONG


def part(body: bytes, wrong: str, mark: str = '"v1"', status: int = 206) -> Answer:
    """An answer to who asks for a part; the whole to who does not."""

    def answer(handler: Handler) -> None:
        if "Range" in handler.headers:
            headers = {"Content-Range": wrong} if wrong else {}
            handler.say(status, body, ETag=mark, **headers)
        else:
            handler.say(200, LONG, ETag='"v1"')

    return answer


REST, END, SIZE = LONG[9000:], len(LONG) - 1, len(LONG)
OTHER = recipe(title="Other", guide="other " * 4000)
LIES: dict[str, tuple[Answer, list[str]]] = {
    "no ranges here": (part(LONG, "", status=200), ["bytes=9000-"]),
    "out of range": (part(b"", f"bytes */{SIZE}", status=416), ["bytes=9000-", "all"]),
    "from another place": (part(REST, f"bytes 8999-{END}/{SIZE}"), ["bytes=9000-", "all"]),
    "to another place": (part(REST[:-9], f"bytes 9000-{END - 9}/{SIZE}"), ["bytes=9000-", "all"]),
    "of another size": (part(REST, f"bytes 9000-{END}/{SIZE + 1}"), ["bytes=9000-", "all"]),
    "of no size": (part(REST, f"bytes 9000-{END}/*"), ["bytes=9000-", "all"]),
    "in another unit": (part(REST, f"lines 9000-{END}/{SIZE}"), ["bytes=9000-", "all"]),
    "without saying which": (part(REST, ""), ["bytes=9000-", "all"]),
    "of another document": (part(REST, f"bytes 9000-{END}/{SIZE}", '"v2"'), ["bytes=9000-", "all"]),
    "more than it says": (part(REST + b"x", f"bytes 9000-{END}/{SIZE}"), ["bytes=9000-", "all"]),
    "less than it says": (part(REST[:-1], f"bytes 9000-{END}/{SIZE}"), ["bytes=9000-", "all"]),
}


@pytest.mark.parametrize(("answer", "asked"), LIES.values(), ids=LIES)
def test_a_part_that_is_not_what_is_missing_is_not_taken(
    site: Server, synced: Synced, broken_off: str, answer: Answer, asked: list[str]
) -> None:
    site.answers["/org/repo.json"] = answer
    assert synced(broken_off).broken == {}
    assert asked_for(site) == asked
    assert Path(Shelf([broken_off]).find("org/repo").path).read_bytes() == LONG


def test_a_document_that_changed_meanwhile_is_fetched_whole(
    site: Server, synced: Synced, broken_off: str
) -> None:
    site.answers["/org/repo.json"] = ranged(OTHER, '"v2"', len(OTHER))
    synced(broken_off)
    assert asked_for(site) == ["bytes=9000-"]
    assert Path(Shelf([broken_off]).find("org/repo").path).read_bytes() == OTHER


def test_a_server_that_swaps_documents_under_one_mark_is_found_out_at_the_next_sync(
    site: Server, synced: Synced, broken_off: str
) -> None:
    """Nobody can tell the bytes apart; what was put together of them does not stay, though."""
    site.answers["/org/repo.json"] = ranged(b"\0" * SIZE, first=SIZE)
    assert list(synced(broken_off).broken) == ["org/repo"]
    site.answers["/org/repo.json"] = ranged(LONG, first=SIZE)
    assert synced(broken_off).broken == {}
    assert Path(Shelf([broken_off]).find("org/repo").path).read_bytes() == LONG


@pytest.mark.parametrize("mark", ['W/"v1"', "", '"v\xe9"'], ids=["weak", "none", "odd"])
def test_without_a_strong_mark_nothing_is_continued(
    site: Server, synced: Synced, mark: str
) -> None:
    url = f"{site.url}/models.json"
    site.answers["/org/repo.json"] = ranged(LONG, mark)
    with pytest.raises(SourceError, match="breaks off"):
        synced(url)
    site.asked.clear()
    synced(url)
    assert asked_for(site) == ["all"]


@pytest.mark.parametrize(
    "change",
    [lambda b: b[:-1], lambda b: b"x" + b, lambda _: b"", lambda b: b.replace(b"word", b"wort")],
    ids=["shorter", "shifted", "emptied", "altered"],
)
def test_what_is_kept_is_used_only_as_it_was_written(
    site: Server, synced: Synced, broken_off: str, cache: Path, change: Callable[[bytes], bytes]
) -> None:
    [file] = (cache / "vllm-launch/sources" / name_of(broken_off) / "http").iterdir()
    file.write_bytes(change(file.read_bytes()))
    synced(broken_off)
    assert asked_for(site) == ["all"]
    assert Path(Shelf([broken_off]).find("org/repo").path).read_bytes() == LONG


# A new revision holds only if it can be read.


def test_a_broken_recipe_is_counted_and_told(site: Server, synced: Synced) -> None:
    site.answers["/org/other.json"] = honest(b'{"hf_id": "org/other", "model": 5}')
    outcome = synced(f"{site.url}/models.json")
    assert (outcome.current.recipes, outcome.current.broken) == (2, 1)
    assert list(outcome.broken) == ["org/other"]
    assert outcome.broken["org/other"].startswith("models/org/other.json:1:")
    assert held(f"{site.url}/models.json")[1] == "One"


def test_a_revision_of_which_nothing_can_be_read_is_refused(
    site: Server, synced: Synced, cache: Path
) -> None:
    url = f"{site.url}/models.json"
    synced(url)
    before = held(url)
    for name in ("repo", "other"):
        site.answers[f"/org/{name}.json"] = honest(b"{}")
    with pytest.raises(SourceError) as caught:
        synced(url)
    assert caught.value.message.startswith(f"{url} has no recipe that can be read: models/org/")
    assert held(url) == before
    assert revisions(cache, url) == {before[0].revision}


# Pins and names.


def test_a_pin_holds_until_it_is_taken_off(site: Server, synced: Synced) -> None:
    url = f"{site.url}/models.json"
    first = synced(url).current.revision
    site.answers["/org/repo.json"] = honest(recipe(title="Two"))
    second = synced(url).current.revision
    pinned = synced(url, pin=first)
    assert (pinned.current.revision, pinned.current.pin) == (first, first)
    site.asked.clear()
    again = synced(url)
    assert (again.kept_pin, again.current.revision, site.asked) == (True, first, [])
    assert held(url)[1] == "One"
    free = synced(url, unpin=True)
    assert (free.current.revision, free.current.pin) == (second, "")
    assert held(url)[1] == "Two"


@pytest.mark.parametrize("pin", ["0123456789abcdef", "v1", "http", "git", "lock"])
def test_a_pin_that_is_not_there(site: Server, synced: Synced, pin: str) -> None:
    url = f"{site.url}/models.json"
    revision = synced(url).current.revision
    before = held(url)
    with pytest.raises(SourceError) as caught:
        synced(url, pin=pin)
    assert caught.value.message == f"{url} is at {revision}, and {pin} is not kept here"
    assert held(url) == before


def test_the_settings_pin_cannot_be_taken_off(site: Server, synced: Synced) -> None:
    with pytest.raises(UsageError, match="the settings pin"):
        synced(f"{site.url}/models.json#v1", unpin=True)


def test_a_name_is_of_one_source(site: Server, synced: Synced) -> None:
    synced(f"near={site.url}/models.json")
    site.answers["/x.json"] = honest(recipe())
    with pytest.raises(UsageError) as caught:
        synced(f"near={site.url}/x.json")
    assert caught.value.message == f"near is the name of {site.url}/models.json"


def test_what_a_killed_sync_left_is_swept_up(site: Server, synced: Synced, cache: Path) -> None:
    url = f"{site.url}/models.json"
    synced(url)
    directory = cache / "vllm-launch/sources" / name_of(url)
    (directory / ".new-abc/models/x").mkdir(parents=True)
    (directory / "0000000000000000").mkdir()
    (directory / ".new-current").write_text("half")
    synced(url)
    assert revisions(cache, url) == {held(url)[0].revision}


def test_room_is_made_before_anything_is_written(
    site: Server, synced: Synced, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a sync that was ended left may be all the room there is."""
    url = f"{site.url}/models.json"
    synced(url)
    directory = cache / "vllm-launch/sources" / name_of(url)
    (directory / ".new-abc").mkdir()
    left: list[set[str]] = []
    place = store.place

    def seen(*words: Any) -> tuple[str, bool]:
        left.append(revisions(cache, url))
        return place(*words)

    monkeypatch.setattr(store, "place", seen)
    synced(url)
    assert left == [{held(url)[0].revision}]


DAMAGE: dict[str, Callable[[Path], object]] = {
    "emptied": lambda file: file.write_bytes(b""),
    "gone": lambda file: file.unlink(),
    "one more": lambda file: (file.parent / "more.json").write_bytes(b"{}"),
    "a link": lambda file: (file.unlink(), file.symlink_to("/etc/hostname")),
    "a pipe": lambda file: (file.unlink(), os.mkfifo(file)),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_copy_is_written_anew(
    site: Server, synced: Synced, said: list[str], cache: Path, damage: Callable[[Path], object]
) -> None:
    url = f"{site.url}/models.json"
    revision = synced(url).current.revision
    directory = cache / "vllm-launch/sources" / name_of(url)
    damage(directory / revision / "models/org/repo.json")
    said.clear()
    assert not synced(url).changed
    assert said.count(
        f"the copy of {revision[:12]} was not what had been fetched; it is written anew"
    ) == 1  # fmt: skip
    assert held(url)[1] == "One"
    assert revisions(cache, url) == {revision}
    said.clear()
    synced(url)
    assert not any("anew" in line for line in said)


def test_a_record_that_cannot_be_read_loses_no_revision(
    site: Server, synced: Synced, cache: Path
) -> None:
    url = f"{site.url}/models.json"
    synced(url)
    directory = cache / "vllm-launch/sources" / name_of(url)
    (directory / "current").write_bytes(b"")
    site.answers["/models.json"] = lambda handler: handler.say(500, b"")
    before = revisions(cache, url)
    with pytest.raises(SourceError):
        synced(url)
    assert revisions(cache, url) == before


@pytest.mark.parametrize("call", ["mkdtemp", "fsync", "rename"])
def test_a_disk_without_room(
    site: Server, synced: Synced, cache: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    url = f"{site.url}/models.json"
    synced(url)
    before = held(url)
    site.answers["/org/repo.json"] = honest(recipe(title="Two"))

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(tempfile if call == "mkdtemp" else os, call, full)
        with pytest.raises(SourceError) as caught:
            synced(url)
    assert caught.value.message.startswith("cannot write ")
    assert caught.value.message.endswith(": No space left on device")
    assert held(url) == before
    assert revisions(cache, url) == {before[0].revision}
    synced(url)
    assert held(url)[1] == "Two"


def test_a_cache_that_cannot_be_written(site: Server, synced: Synced, cache: Path) -> None:
    (cache / "vllm-launch").mkdir(parents=True)
    (cache / "vllm-launch/sources").write_text("in the way")
    with pytest.raises(SourceError) as caught:
        synced(f"{site.url}/models.json")
    directory = cache / "vllm-launch/sources" / name_of(f"{site.url}/models.json")
    assert caught.value.message == f"cannot write to {directory}: Not a directory"


def test_the_time_limit_ends_with_its_block() -> None:
    import signal

    before = signal.getsignal(signal.SIGALRM)
    with within(30, "x"):
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    assert signal.getsignal(signal.SIGALRM) == before
