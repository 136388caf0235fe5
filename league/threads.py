"""How the league's processes compute: how many threads, and what of the smallest numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


def one_thread() -> None:
    """One thread for torch and for numpy's matrix products, in this process from now on.

    The league's networks are small: a second thread costs more than it gives, and takes the core of an actor or of the learner.
    """
    import threadpoolctl
    import torch

    torch.set_num_threads(1)
    threadpoolctl.threadpool_limits(1, user_api="blas")


@contextlib.contextmanager
def no_denormals() -> Iterator[None]:
    """Numbers below 1.2e-38 (denormals) count as 0 in this thread, within: in torch, in numpy and in compiled code alike. After
    it they count, as they do by default.

    A policy that knows what to do gives the rest chances of 1e-38 and less, and a processor takes fifty times as long for a product
    with such a number in it. Where it cannot leave them out (``torch.set_flush_denormal`` says so), all is as it was, slower.
    """
    import torch

    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
