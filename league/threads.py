"""How many threads the league's processes compute with."""

from __future__ import annotations


def one_thread() -> None:
    """One thread for torch and for numpy's matrix products, in this process from now on.

    The league's networks are small: a second thread costs more than it gives, and takes the core of an actor or of the learner.
    """
    import threadpoolctl
    import torch

    torch.set_num_threads(1)
    threadpoolctl.threadpool_limits(1, user_api="blas")
