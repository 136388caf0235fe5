"""What "there was not enough memory" looks like."""

from __future__ import annotations


def is_out_of_memory(error: BaseException) -> bool:
    """Whether there was not enough memory, of the machine or of its GPU. Torch tells a full GPU by a type of its own, a full machine
    only by its words; other libraries have words of theirs."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    said = str(error).lower()
    words = ("can't allocate memory", "not enough memory", "out of memory", "bad_alloc")
    return isinstance(error, RuntimeError) and any(word in said for word in words)
