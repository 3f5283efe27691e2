"""Words and values as Kubernetes reads them: it makes a variable's value of ``$(NAME)``."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def literal(text: str) -> str:
    """Text of which nothing is expanded: two dollar signs stand for one."""
    return text.replace("$", "$$")


def expandable(text: str, values: Mapping[str, str]) -> str:
    """Text with placeholders as what is expanded where it runs, and the rest as it is.

    ``values`` are in Kubernetes' own writing. Raises KeyError for a placeholder not among them.
    """
    if "$" not in text:
        return text
    from ...resolve.endpoints import pieces

    return "".join(
        literal(piece) if not is_name else values[piece] for piece, is_name in pieces(text)
    )
