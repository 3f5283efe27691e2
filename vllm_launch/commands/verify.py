"""verify: wait until a server is ready, and test what its recipe promises."""

from __future__ import annotations

import os

from ..errors import CheckFailed, UsageError
from ..model.record import Record
from ..render.waiting import telling
from ..running import reality
from ..running.address import Address, parsed
from ..running.http import Asked, NoReply, exchange
from ..running.promise import Promise
from ..running.reality import compare
from ..running.smoke import run as run_tests
from ..running.state import names
from ..running.waiting import Server, Waited, wait
from ..streams import answer, finish, remark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..commandline import Invocation
    from ..running.reality import Intent
    from ..running.smoke import Result
    from ..running.state import Kept
    from ..settings import Settings

NO_PROCESS_SECONDS = 3600.0  # of waiting for a server of whose process nothing is known
REQUEST_SECONDS = 120.0
KEY = "VLLM_API_KEY"


class Verification(Record):
    """What came of it."""

    address: Address
    promise: Promise
    waited: Waited
    results: tuple[Result, ...] = ()
    strict: bool = False  # whether what is not as intended counts as what does not hold

    @property
    def holds(self) -> bool:
        """Whether all that was promised was seen."""
        asked = (each for each in self.results if self.strict or not each.intent)
        return self.waited.ready and all(each.held for each in asked)


def run(invocation: Invocation, settings: Settings) -> int:
    """Wait, test, and print what held; exit status 4 where something did not."""
    server, promise, intent, kept = _subject(invocation, settings)
    try:
        found = verify(server, promise, settings, intent)
    finally:
        server.close()
    if found.waited.dead and kept is not None:
        from .failure import tell_log

        tell_log(kept)
    if settings["output"] == "json":
        from ..render.envelope import envelope

        answer(envelope("verification", record_of(found)))
        return 0 if found.holds else CheckFailed.exit_status
    if not found.waited.ready:
        raise not_ready(found)
    _print(found, settings)
    return 0 if found.holds else CheckFailed.exit_status


def verify(
    server: Server,
    promise: Promise | None,
    settings: Settings,
    intent: Intent | None = None,
    *,
    bar: bool = True,
) -> Verification:
    """Wait for a server and test it; where nothing is promised, what its own recipe promises.

    Then what it reports of itself, beside what is intended.
    """
    seconds = settings["wait_timeout"] or (None if server.watched else NO_PROCESS_SECONDS)
    each = settings["request_timeout"] or REQUEST_SECONDS
    tell = telling(colour=not settings["no_color"], bar=bar and settings["output"] != "json")
    try:
        waited = wait(server, tell, seconds, each)
    finally:
        tell.close()
    if not waited.ready:
        return Verification(address=server.address, promise=promise or Promise(), waited=waited)
    if promise is None:
        promise = _own_recipe(server.address, each, settings)
    key = os.environ.get(KEY) or None
    results = tuple(run_tests(server.address, promise, key, each, lambda: not server.ended()))
    if intent is not None and results[0].held:
        from .reported import reported

        results += tuple(compare(intent, reported(server, intent, waited, key)))
    return Verification(
        address=server.address,
        promise=promise,
        waited=waited,
        results=results,
        strict=bool(settings["strict"]),
    )


def not_ready(found: Verification) -> CheckFailed:
    """The error for a server that was not there to be tested."""
    return CheckFailed(
        f"{found.address.url}: {found.waited.what}",
        hint="" if found.waited.dead else "see its log, or vllm-launch diagnose LOG",
    )


def record_of(found: Verification) -> dict[str, object]:
    """As plain data."""
    from ..render.verification import result_records

    return {
        "url": found.address.url,
        "recipe": found.promise.recipe or None,
        "holds": found.holds,
        "ready": found.waited.ready,
        "dead": found.waited.dead,
        "what": found.waited.what or None,
        "seconds": round(found.waited.seconds, 3),
        "tests": result_records(found.results),
    }


def _print(found: Verification, settings: Settings) -> None:
    from ..render.paper import paper
    from ..render.verification import print_verification, verification_text

    on = paper(bool(settings["no_color"]))
    about = f"{found.address.url}, ready after {found.waited.seconds:.1f} s"
    if on.styled:
        print_verification(about, found.results, on)
    else:
        answer(verification_text(about, found.results))
    finish()
    failed = sum(each.held is False and not each.intent for each in found.results)
    untested = sum(each.held is None for each in found.results)
    if failed:
        remark(f"# {failed} of {len(found.results)} did not hold, {untested} were not tested\n")
    differ = sum(each.held is False and each.intent for each in found.results)
    if differ:
        remark(f"# {differ} not as planned{'' if found.strict else '; --strict makes that fail'}\n")


def _subject(
    invocation: Invocation, settings: Settings
) -> tuple[Server, Promise | None, Intent | None, Kept | None]:
    """What to ask, what is promised and intended of it, and its record.

    Raises UsageError where nothing says.
    """
    url = settings["url"]
    if invocation.argument is not None:
        from .answering import answering

        address, promise, intent = answering(invocation, settings)
        address = parsed(url, settings.source("url")) if url else address
        return Server(address), promise, intent, None
    if url:
        return Server(parsed(url, settings.source("url"))), None, None, None
    from ..running.following import following
    from ..running.promise import from_record
    from .kept import kept_server

    if settings["name"] is None and not names():
        raise UsageError(
            "verify needs a server",
            hint="name its address with --url, or the MODEL that it serves",
        )
    kept = kept_server(settings["name"], settings.source("name"))
    if not kept.url:
        raise UsageError(f"{kept.name} answers no requests: another node does", hint="give --url")
    return following(kept), from_record(kept.promise), reality.from_record(kept.intent), kept


def _own_recipe(address: Address, seconds: float, settings: Settings) -> Promise:
    """What the recipe of the model that a server names promises; nothing where there is none."""
    from ..running import answers

    try:
        reply = exchange(address, Asked(path="/v1/models", key=os.environ.get(KEY)), seconds)
        served = answers.models(reply)[0]
    except (NoReply, answers.DoesNotHold):
        return Promise()  # the first test will say so
    from .answering import promise_of_model

    for name in dict.fromkeys(served[:2]):
        promise = (
            promise_of_model(name, settings) if "/" in name and not os.path.isabs(name) else None
        )
        if promise is not None:
            remark(f"# by its name, the recipe is {promise.recipe}\n")
            return promise.replace(models=(served[0],))
    return Promise()
