"""What a request takes of the KV cache."""

from __future__ import annotations

from .record import Record


class KvCache(Record):
    """Bytes on each rank, an estimate. Some layers keep every token, others a window of them."""

    per_token: float  # of the layers that keep every token; above 0
    windowed: float = 0.0  # for each token, of the layers that keep a window
    window: int = 0  # tokens that those keep

    def taken(self, tokens: int) -> float:
        """Bytes that one request of so many tokens takes."""
        return self.per_token * tokens + self.windowed * min(tokens, self.window)

    def tokens(self, room: float) -> int:
        """The tokens of the longest request that so many bytes hold."""
        short = room / (self.per_token + self.windowed)
        if short > self.window:
            short = (room - self.windowed * self.window) / self.per_token
        return max(0, int(short))
