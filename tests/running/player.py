"""A server that plays vLLM: over real HTTP, with each misbehaviour that a test asks for.

As a program it plays ``vllm serve`` as well: ``PLAY`` in its environment is a JSON mapping of
what to do. It needs the standard library alone.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise

MODEL = "Qwen/Qwen3-8B"
LOADING = (
    "INFO 11-02 09:14:01 [api_server.py:1977] vLLM API server version 0.32.0",
    "INFO 11-02 09:14:05 [utils.py:334] non-default args: {args}",
    "INFO 11-02 09:14:41 [gpu_model_runner.py:5040] Starting to load model {model}...",
    "\rLoading safetensors checkpoint shards:  50% Completed | 2/4 [00:01<00:01,  1.6it/s]\r",
    "INFO 11-02 09:19:02 [default_loader.py:502] Loading weights took 250.11 seconds",
    "INFO [gpu_model_runner.py:5150] Model loading took 15.27 GiB memory and 262.4 s",
    "INFO 11-02 09:20:12 [monitor.py:20] torch.compile took 48.20 s in total",
    "INFO 11-02 09:20:41 [gpu_worker.py:760] Available KV cache memory: 61.20 GiB",
    "GPU KV cache size: {kv:,} tokens, Maximum concurrency for {length:,} tokens per request: 9x",
    "INFO 11-02 09:21:13 [gpu_model_runner.py:6582] Graph capturing finished in 28 secs",
    "INFO [core.py:403] init engine (profile, create kv cache, warmup model) took 130.12 s",
)


ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Play(ThreadingHTTPServer):
    """The server. ``told`` says what it does otherwise than vLLM would."""

    daemon_threads = True

    def __init__(self, told: dict, address: tuple[str, int] = ("127.0.0.1", 0)) -> None:
        self.told = told
        self.asked: list[tuple[str, str | None, dict]] = []
        self.looks = 0
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, Handler)
        if "certificate" in told:
            self._secure(told["certificate"])

    def _secure(self, certificate: str) -> None:
        import ssl

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self.socket = context.wrap_socket(
            self.socket, server_side=True, do_handshake_on_connect=False
        )

    @property
    def url(self) -> str:
        kind = "https" if "certificate" in self.told else "http"
        return f"{kind}://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, *_: object) -> None:
        pass  # a client that gave up


@contextmanager
def playing() -> Iterator[Callable[..., Play]]:
    """Start servers that do what they are told, and end them afterwards."""
    started: list[Play] = []

    def start(**told: object) -> Play:
        server = Play(told)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        started.append(server)
        return server

    try:
        yield start
    finally:
        for server in started:
            server.shutdown()
            server.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Play

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        multipart = "multipart" in (self.headers.get("Content-Type") or "")
        self._answer({"form": len(body)} if multipart else json.loads(body))

    def _answer(self, body: dict) -> None:
        told = self.server.told
        self.server.asked.append((self.path, self.headers.get("Authorization"), body))
        if told.get("hangs") in (self.path, "everything"):
            time.sleep(600)
        if told.get("dies_at") == self.path:
            os.kill(os.getpid(), signal.SIGKILL)
        if told.get("garbage"):
            self.wfile.write(b"SSH-2.0-OpenSSH_9.6\r\n")
            self.close_connection = True
            return None
        if self.path == "/health" and told.get("health") != 307:
            return self._health(told)
        if told.get("redirect"):
            self.send_response(307)
            self.send_header("Location", told["redirect"])
            self.send_header("Content-Length", "0")
            return self.end_headers()
        key = told.get("key")
        if key and self.headers.get("Authorization") != f"Bearer {key}":
            return self._json({"error": "Unauthorized"}, 401)
        routes = {
            "/version": lambda _: {"version": told.get("version", "0.32.0")},
            "/v1/models": self._models,
            "/v1/chat/completions": self._chat,
            "/v1/completions": self._completion,
            "/v1/embeddings": lambda _: {"data": [{"embedding": told.get("vector", [0.5, -1])}]},
            "/v1/audio/transcriptions": lambda _: {"text": told.get("heard", "")},
        }
        if self.path == "/metrics":
            return self._send(_metrics(told).encode(), "text/plain")
        if self.path not in routes:
            return self._json({"detail": "Not Found"}, 404)
        found = routes[self.path](body)
        if found is not None:
            self._json(*found) if isinstance(found, tuple) else self._json(found)
        return None

    def _health(self, told: dict) -> None:
        self.server.looks += 1
        if told.get("health") == 404:
            return self._json({"detail": "Not Found"}, 404)
        early = self.server.looks <= told.get("not_ready_looks", 0)
        return self._send(b"", "text/plain", 503 if early else told.get("health", 200))

    def _models(self, _: dict) -> dict:
        told = self.server.told
        return {"object": "list", "data": [
            {"id": name, "root": told.get("root", name), "max_model_len": told.get("length", 40960)}
            for name in told.get("models", [MODEL])
        ]}  # fmt: skip

    def _chat(self, body: dict) -> dict | tuple[dict, int] | None:
        told = self.server.told
        if told.get("no_template"):
            message = "As of transformers v4.44, default chat template is no longer allowed"
            return {"error": {"message": message, "code": 400}}, 400
        if body["model"] not in told.get("models", [MODEL]):
            return {"error": {"message": f"The model `{body['model']}` does not exist."}}, 404
        if body.get("stream"):
            return self._stream([{"delta": {"content": w}} for w in told.get("words", ["He", "y"])])
        if body.get("tools"):
            return _choice(told.get("call", CALL), "tool_calls")
        words = body["messages"][0]["content"]
        if isinstance(words, list):
            return told.get("picture") or _choice({"content": "Red"})
        if "Think" in words:
            thinking = body.get("chat_template_kwargs", {}).get("enable_thinking")
            if told.get("thinks_when_told") and not thinking:
                return _choice({"content": "391"})
            return _choice(told.get("thought", {"reasoning": "17 * 23 = 391", "content": "391"}))
        return _choice({"content": told.get("text", "Hello there, how are you?")})

    def _completion(self, body: dict) -> dict | None:
        if body.get("stream"):
            return self._stream([{"text": " John"}, {"text": " Smith"}])
        return {"choices": [{"text": self.server.told.get("text", " John"),
                             "finish_reason": "length"}]}  # fmt: skip

    def _stream(self, pieces: list[dict]) -> None:
        told = self.server.told
        events = [{"choices": [piece]} for piece in pieces]
        if not told.get("endless"):
            events.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
        data = [json.dumps(event) for event in events]
        data += [*told.get("events", []), "[DONE]"]
        self.send_response(200)
        self.send_header(
            "Content-Type", told.get("stream_type", "text/event-stream; charset=utf-8")
        )
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, text in enumerate(data):
            if told.get("cut") == number:
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            if told.get("stalls") == number:
                time.sleep(600)
            if text == "[DONE]" and told.get("no_done"):
                continue
            self._chunk(f"data: {text}\n\n".encode())
        self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _json(self, what: dict, status: int = 200) -> None:
        told = self.server.told
        body = json.dumps(what).encode()
        if told.get("no_json") == self.path:
            body = b"<html>502 Bad Gateway</html>"
        if told.get("half") == self.path:
            return self._half(body)
        self._send(body, "application/json", status)
        return None

    def _half(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2])
        self.close_connection = True

    def _send(self, body: bytes, kind: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


CALL = {
    "content": None,
    "tool_calls": [{
        "id": "call-1", "type": "function",
        "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'},
    }],
}  # fmt: skip


def _choice(message: dict, ended: str = "stop") -> dict:
    return {"choices": [{"index": 0, "message": {"role": "assistant", **message},
                         "finish_reason": ended}]}  # fmt: skip


def _metrics(told: dict) -> str:
    labels = {
        "block_size": "16", "num_gpu_blocks": "1000", "gpu_memory_utilization": "0.92",
        "cache_dtype": "auto", "kv_cache_size_tokens": str(told.get("kv", 512000)), "engine": "0",
    } | told.get("cache", {})  # fmt: skip
    inside = ",".join(f'{name}="{value}"' for name, value in labels.items())
    return (
        "# HELP vllm:cache_config_info Information of the LLMEngine CacheConfig\n"
        "# TYPE vllm:cache_config_info gauge\n"
        f"vllm:cache_config_info{{{inside}}} 1.0\n"
    )


def main(argv: list[str]) -> None:
    """Play ``vllm serve MODEL …``: a log, children, then a server, or an end."""
    told = json.loads(os.environ.get("PLAY", "{}"))
    model = argv[1]
    value = dict(pairwise(argv))
    host, port = value.get("--host", "127.0.0.1"), int(value.get("--port", "8000"))
    args = told.get("args", {"model_tag": model, "model": model})
    words = {"args": args, "model": model, "kv": told.get("kv", 512000),
             "length": told.get("length", 40960)}  # fmt: skip
    if told.get("children"):
        _children(told)
    told.setdefault("models", [value.get("--served-model-name", model)])
    for number, line in enumerate(LOADING):
        if told.get("dies_after") == number:
            print(told.get("last_words", "RuntimeError: it went wrong"), flush=True)
            os._exit(told.get("status", 1))
        print(line.format(**words), flush=True)
        time.sleep(told.get("pause", 0))
        if told.get("stays_at") == number:
            _stay(told)
    server = Play(told, (host, port))
    print(f"INFO 11-02 09:21:20 [entry.py:140] Starting vLLM server on http://{host}:{port}",
          flush=True)  # fmt: skip
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("INFO:     Application startup complete.", flush=True)
    number = signal.sigwait(ENDING)
    print(f"ended by {signal.Signals(number).name}", flush=True)
    if told.get("deaf"):
        while True:
            time.sleep(1)
    os._exit(told.get("status", 0))


def _stay(told: dict) -> None:
    """Load until a signal comes, or a file is there."""
    while not signal.sigtimedwait(ENDING, 0.02):
        if os.path.exists(told.get("until", "")):
            return
    os._exit(told.get("status", 0))


def _children(told: dict) -> None:
    """EngineCore and workers: in the server's own group."""
    for _ in range(told["children"]):
        if os.fork() == 0:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM, signal.SIGINT])
            signal.signal(signal.SIGTERM, signal.SIG_IGN if told.get("deaf") else signal.SIG_DFL)
            while True:
                time.sleep(1)


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    main(sys.argv[1:])
