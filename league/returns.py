"""Targets of actor-critic learning from another policy's play: V-trace, TD(lambda), UPGO.

Pure numpy; nothing here carries a gradient. All arrays are time-major ``[T, B]``; ``log_pi`` and ``log_mu`` may be
``[T, B, G]`` (one trace for each of G groups of heads), and so are the results then. The precision of ``values``
(float32 or float64) is that of the results.

``terminated`` and ``truncated`` are disjoint, ``done`` is either. ``values[t]`` is V(obs_t) and ``next_values[t]`` V of
its *true* successor: the episode's own final observation where truncated (never the first one of the next episode), the
bootstrap at T-1. So a truncation bootstraps from its own final observation and cuts the trace; a termination is worth
nothing beyond its reward, whatever the value there.

``living`` says which frames count (a seat's frames after its ship died do not). Frames that do not count come out as
zeros, touch no other frame, and may hold anything, NaN included.

The recursion is a loop over T of vectors. ``league.loss_kernel`` has it compiled for the learner, held to this by tests.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Flags = NDArray[np.bool_]


class Frames(NamedTuple):
    """What ``checked_frames`` made of the arguments: [T, B] each, zeros where a frame does not count."""

    values: Floats
    next_values: Floats
    rewards: Floats
    discount: Floats
    """gamma, and 0 where terminated or not counted."""
    trace: Floats
    """gamma where the trace goes on to the next frame, else 0."""
    done: Flags
    living: Flags


class VTrace(NamedTuple):
    """Results of ``vtrace``, of the shape of ``log_pi``."""

    vs: Floats
    """Value targets."""
    advantage: Floats
    """rho_pg * (r + g * vs_next - value): what multiplies grad log pi."""
    ratio: Floats
    """pi / mu, unclipped; 1 at lag 0. Zero where a frame does not count."""


class Upgo(NamedTuple):
    """Results of ``upgo_returns``."""

    returns: Floats
    follows: Flags
    """Where the return goes on with the play's own (lambda = 1): the next step did at least as well as its value."""


def _first(wrong: NDArray[np.bool_]) -> str:
    return f"[{', '.join(map(str, np.argwhere(wrong)[0]))}]"


def _finite(name: str, array: Floats, counted: Flags) -> None:
    wrong = ~np.isfinite(array)
    if wrong.any():
        wrong &= counted.reshape(counted.shape + (1,) * (array.ndim - 2))
        if wrong.any():
            raise ValueError(f"{name}{_first(wrong)}: not a finite number; look for its origin, or mask the frame by `living`")


def checked_frames(
    values: Floats,
    next_values: Floats,
    rewards: Floats,
    terminated: Flags,
    truncated: Flags,
    gamma: float,
    living: Flags | None = None,
) -> Frames:
    """Check shapes, flags and numbers, and blank what does not count. Raises ValueError with what is wrong and where."""
    values = np.asarray(values)
    if values.ndim != 2 or not values.size:
        raise ValueError(f"values: shape {values.shape}; time-major [T, B] with at least one frame is needed")
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    if not 0.0 <= gamma <= 1.0:
        raise ValueError(f"gamma: {gamma} is not within 0..1")
    counted = np.ones(values.shape, bool) if living is None else np.asarray(living, bool)
    floats = {"next_values": np.asarray(next_values, values.dtype), "rewards": np.asarray(rewards, values.dtype)}
    flags = {"terminated": np.asarray(terminated, bool), "truncated": np.asarray(truncated, bool), "living": counted}
    for name, array in {**floats, **flags}.items():
        if array.shape != values.shape:
            raise ValueError(f"{name}: shape {array.shape}, but values have {values.shape}; all are time-major [T, B]")
    both = flags["terminated"] & flags["truncated"] & counted
    if both.any():
        raise ValueError(f"terminated and truncated{_first(both)}: both are set; a truncated episode is one that did not terminate")
    done = flags["terminated"] | flags["truncated"]
    lost = counted[:-1] & ~counted[1:] & ~done[:-1]
    if lost.any():
        raise ValueError(f"living{_first(lost)}: the next frame does not count, but this one is neither terminated nor truncated")
    goes_on = counted & ~flags["terminated"]
    _finite("values", values, counted)
    _finite("next_values", floats["next_values"], goes_on)
    _finite("rewards", floats["rewards"], counted)
    zero = values.dtype.type(0)
    discount = np.where(goes_on, values.dtype.type(gamma), zero)
    return Frames(
        np.where(counted, values, zero),
        np.where(goes_on, floats["next_values"], zero),
        np.where(counted, floats["rewards"], zero),
        discount,
        np.where(done, zero, discount),
        done,
        counted,
    )


def successor_values(values: Floats, bootstrap_values: Floats, truncated: Flags, final_values: Floats) -> Floats:
    """``next_values`` [T, B]: V(obs_{t+1}), the bootstrap [B] after the last frame, V of the own final observation where truncated.

    ``final_values`` [T, B] counts only where ``truncated``; a truncated last frame bootstraps from it as well.
    """
    if values.shape[1:] != bootstrap_values.shape or final_values.shape != values.shape or truncated.shape != values.shape:
        raise ValueError(
            f"values {values.shape}, bootstrap_values {bootstrap_values.shape}, truncated {truncated.shape}, final_values "
            f"{final_values.shape}: [T, B], [B], [T, B] and [T, B] are needed"
        )
    return np.where(truncated, final_values, np.concatenate([values[1:], bootstrap_values[None]]))


def vtrace_of(
    frames: Frames,
    log_pi: Floats,
    log_mu: Floats,
    *,
    lambda_: float = 1.0,
    rho_bar: float = 1.0,
    c_bar: float = 1.0,
    pg_rho_bar: float = 1.0,
) -> VTrace:
    """V-trace of checked frames; see ``vtrace``."""
    values, next_values, rewards, discount, trace, done, living = frames
    log_pi, log_mu = np.asarray(log_pi, values.dtype), np.asarray(log_mu, values.dtype)
    for name, array in (("log_pi", log_pi), ("log_mu", log_mu)):
        if array.shape != log_pi.shape or array.shape[:2] != values.shape or array.ndim > 3:
            raise ValueError(f"{name}: shape {array.shape}; log_pi and log_mu are both {values.shape}, or both with an axis of groups")
        _finite(name, array, living)
    for name, value in (("lambda_", lambda_), ("rho_bar", rho_bar), ("c_bar", c_bar), ("pg_rho_bar", pg_rho_bar)):
        if not (value >= 0.0 and (name != "lambda_" or value <= 1.0)):
            raise ValueError(f"{name}: {value}; lambda_ is within 0..1, the others are not negative")
    if log_pi.ndim == 3:  # one by one: vectors of three numbers are slow
        clips = {"lambda_": lambda_, "rho_bar": rho_bar, "c_bar": c_bar, "pg_rho_bar": pg_rho_bar}
        groups = [vtrace_of(frames, log_pi[..., g], log_mu[..., g], **clips) for g in range(log_pi.shape[2])]
        return VTrace(*(np.stack(parts, -1) for parts in zip(*groups, strict=True)))
    # target over behaviour; exp overflows to infinity for absurd lags, which the clips below make finite again
    with np.errstate(over="ignore", invalid="ignore"):
        ratio = np.where(living, np.exp(log_pi - log_mu), values.dtype.type(0))
    delta = np.minimum(rho_bar, ratio) * (rewards + discount * next_values - values)
    carried = trace * (lambda_ * np.minimum(c_bar, ratio))
    accumulated = np.empty_like(delta)
    last = np.zeros_like(delta[0])
    for t in range(len(delta) - 1, -1, -1):
        last = delta[t] + carried[t] * last
        accumulated[t] = last
    vs = values + accumulated
    vs_next = next_values.copy()
    vs_next[:-1] = np.where(done[:-1], next_values[:-1], vs[1:])
    advantage = np.minimum(pg_rho_bar, ratio) * (rewards + discount * vs_next - values)
    return VTrace(vs, advantage, ratio)


def vtrace(
    log_pi: Floats,
    log_mu: Floats,
    values: Floats,
    next_values: Floats,
    rewards: Floats,
    terminated: Flags,
    truncated: Flags,
    *,
    gamma: float,
    lambda_: float = 1.0,
    rho_bar: float = 1.0,
    c_bar: float = 1.0,
    pg_rho_bar: float = 1.0,
    living: Flags | None = None,
) -> VTrace:
    """V-trace (Espeholt et al., IMPALA, 2018, equation 1, with lambda as in their remark 2).

    rho = min(rho_bar, pi/mu), c = lambda min(c_bar, pi/mu), delta = rho (r + g V' - V),
    acc_t = delta_t + gamma (1 - done_t) c_t acc_{t+1}, vs = V + acc,
    advantage = min(pg_rho_bar, pi/mu) (r + g vs' - V) where vs' is ``next_values`` at the end of an episode and of the
    sequence. Raises ValueError on shapes that differ, flags that contradict each other, and numbers that are not finite.
    """
    frames = checked_frames(values, next_values, rewards, terminated, truncated, gamma, living)
    return vtrace_of(frames, log_pi, log_mu, lambda_=lambda_, rho_bar=rho_bar, c_bar=c_bar, pg_rho_bar=pg_rho_bar)


def _lambda_returns(frames: Frames, lambdas: Floats | float) -> Floats:
    """G_t = r_t + g_t ((1 - lambda_t) V'_t + lambda_t G_{t+1}); V'_t alone in the bracket where done or last."""
    carried = frames.trace * np.asarray(lambdas, frames.values.dtype)
    carried[-1] = 0
    fixed = frames.rewards + (frames.discount - carried) * frames.next_values
    returns = np.empty_like(fixed)
    last = np.zeros_like(fixed[0])
    for t in range(len(fixed) - 1, -1, -1):
        last = fixed[t] + carried[t] * last
        returns[t] = last
    return returns


def td_lambda_of(frames: Frames, lambda_: float) -> Floats:
    """TD(lambda) returns of checked frames; see ``td_lambda``."""
    if not 0.0 <= lambda_ <= 1.0:
        raise ValueError(f"lambda_: {lambda_} is not within 0..1")
    return _lambda_returns(frames, lambda_)


def td_lambda(
    next_values: Floats,
    rewards: Floats,
    terminated: Flags,
    truncated: Flags,
    *,
    gamma: float,
    lambda_: float,
    living: Flags | None = None,
) -> Floats:
    """TD(lambda) returns [T, B] (Sutton and Barto, 2018, section 12.1), without importance weights. Raises as ``vtrace``."""
    values = np.zeros_like(np.asarray(next_values))  # a return does not need the value of its own state
    return td_lambda_of(checked_frames(values, next_values, rewards, terminated, truncated, gamma, living), lambda_)


def upgo_of(frames: Frames) -> Upgo:
    """UPGO returns of checked frames; see ``upgo_returns``."""
    follows = np.ones(frames.values.shape, bool)
    one_step = frames.rewards + frames.discount * frames.next_values
    follows[:-1] = one_step[1:] >= frames.values[1:]
    return Upgo(_lambda_returns(frames, follows.astype(frames.values.dtype)), follows)


def upgo_returns(
    values: Floats,
    next_values: Floats,
    rewards: Floats,
    terminated: Flags,
    truncated: Flags,
    *,
    gamma: float,
    living: Flags | None = None,
) -> Upgo:
    """Upgoing returns (Vinyals et al., 2019, supplementary pseudocode): lambda_t = 1 where r_{t+1} + g V_{t+2} >= V_{t+1}.

    The play's own return is followed as long as it does at least as well as expected; else the value is put in its place.
    Raises as ``vtrace``.
    """
    return upgo_of(checked_frames(values, next_values, rewards, terminated, truncated, gamma, living))
