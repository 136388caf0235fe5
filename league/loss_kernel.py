"""Compiled: the loss of one update with its gradient, as ``league.losses.update_loss`` says it, in three passes over the frames.

``log_policy`` turns logits into probabilities and takes the log-probabilities of what was done, KL and entropy with their gradients;
``targets`` runs V-trace, TD(lambda) and UPGO backwards in time and ``measure`` looks at them; ``policy_gradient`` adds what they are
worth. All in float32, sums that people read in float64. Imported after ``world.kernels`` (it names the folder of compiled code).

Frames lie side by side: ``logits`` is [LOGITS + 1, R], of which the first N = T * B columns are frames, so that every loop over a block
of frames is one of vectors. Legend: H heads, G groups of heads with a trace of their own. ``heads`` [H, 3]: first bin, bins, group; not
constants, since loops over known numbers of bins would be unrolled and take minutes to compile.
exp and log are Cephes' polynomials (S. Moshier; 2 ulp), since calls of the C library stand in the way of that.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from league.codec import BINS

BINS_IN_ALL, MOST_BINS = int(BINS.sum()), int(BINS.max())
BLOCK = 128
"""Frames worked on together: their numbers stay in the nearest cache."""

F, INT = np.float32, np.int32
ZERO, ONE = F(0.0), F(1.0)
_LOG2_E, _LN2_HIGH, _LN2_LOW = F(1.44269504088896341), F(0.693359375), F(-2.12194440e-4)
_E0, _E1, _E2 = F(1.9875691500e-4), F(1.3981999507e-3), F(8.3334519073e-3)
_E3, _E4, _E5 = F(4.1665795894e-2), F(1.6666665459e-1), F(5.0000001201e-1)
_L0, _L1, _L2 = F(7.0376836292e-2), F(-1.1514610310e-1), F(1.1676998740e-1)
_L3, _L4, _L5 = F(-1.2420140846e-1), F(1.4249322787e-1), F(-1.6668057665e-1)
_L6, _L7, _L8 = F(2.0000714765e-1), F(-2.4999993993e-1), F(3.3333331174e-1)
_LOWEST, _HIGHEST = F(-87.0), F(88.0)
_HALF, _ROOT = F(0.5), F(1.41421356)
_BIAS, _SHIFT, _MANTISSA, _ONE_BITS = INT(127), INT(23), INT(0x7FFFFF), INT(0x3F800000)

_options = {"error_model": "numpy", "fastmath": {"contract"}, "nogil": True}
_compiled = njit(**_options)


@intrinsic
def _as_float(typing, bits):
    """The float32 of these bits."""
    return types.float32(types.int32), lambda context, builder, signature, args: builder.bitcast(args[0], ir.FloatType())


@intrinsic
def _as_bits(typing, number):
    """The bits of this float32."""
    return types.int32(types.float32), lambda context, builder, signature, args: builder.bitcast(args[0], ir.IntType(32))


@_compiled
def exp(x):
    """e**x, for x from -87 to 88, and as at the nearer end beyond."""
    x = min(max(x, _LOWEST), _HIGHEST)
    n = np.floor(x * _LOG2_E + _HALF)
    x = x - n * _LN2_HIGH - n * _LN2_LOW
    y = ((((_E0 * x + _E1) * x + _E2) * x + _E3) * x + _E4) * x + _E5
    return (y * x * x + x + ONE) * _as_float((INT(n) + _BIAS) << _SHIFT)


@_compiled
def log(x):
    """The natural logarithm of an ordinary x > 0."""
    bits = _as_bits(x)
    m = _as_float((bits & _MANTISSA) | _ONE_BITS)
    large = m > _ROOT
    m = m * _HALF if large else m
    e = F((bits >> _SHIFT) - _BIAS) + (ONE if large else ZERO)
    m = m - ONE
    y = (((((((_L0 * m + _L1) * m + _L2) * m + _L3) * m + _L4) * m + _L5) * m + _L6) * m + _L7) * m + _L8
    square = m * m
    y = y * m * square + e * _LN2_LOW - _HALF * square
    return m + y + e * _LN2_HIGH


@_compiled
def _log_softmax(source, start, size, begin, count, log_p, p, top, total):
    """One head of ``count`` frames from ``begin`` on: rows of ``source`` from ``start`` on, into ``log_p`` and ``p`` [size, BLOCK].

    Loops are over single rows with few arrays in each: what touches many is not made into vectors by the compiler."""
    top[:count] = source[start][begin : begin + count]
    for k in range(1, size):
        x = source[start + k][begin : begin + count]
        for n in range(count):
            top[n] = max(top[n], x[n])
    total[:count] = ZERO
    for k in range(size):
        x, e = source[start + k][begin : begin + count], p[k]
        for n in range(count):
            e[n] = exp(x[n] - top[n])
        for n in range(count):
            total[n] += e[n]
    for n in range(count):
        top[n] += log(total[n])
    for n in range(count):
        total[n] = ONE / total[n]
    for k in range(size):
        x, told, e = source[start + k][begin : begin + count], log_p[k], p[k]
        for n in range(count):
            told[n] = x[n] - top[n]
        for n in range(count):
            e[n] *= total[n]


@_compiled
def _pull(p, log_p, entropy, r, kl_weight, entropy_weight, counts, gradient):
    """The gradient of KL and entropy with respect to one bin's logit in a row of frames."""
    for n in range(len(gradient)):
        gradient[n] = kl_weight * (p[n] - r[n]) + entropy_weight * p[n] * (log_p[n] + entropy[n])
    for n in range(len(gradient)):
        gradient[n] = gradient[n] if counts[n] > ZERO else ZERO


@_compiled
def _take(action, head_mask, mu, begin, h, size, counts, log_p, log_pi, log_mu):
    """Add the log-probabilities of what was done by one head. False when that is none of its bins."""
    right = True
    for n in range(len(log_pi)):
        bin_ = action[begin + n, h]
        known = 0 <= bin_ < size
        counted = counts[n] > ZERO
        right &= known or not counted
        log_pi[n] += log_p[bin_ if known else 0, n] if counted else ZERO
        log_mu[n] += mu[begin + n, h] if counted else ZERO
    return right


def _log_policy(logits, reference, action, head_mask, living, mu, heads, weights, gradient, log_pi, log_mu, sums):
    """Logits become probabilities in place; ``gradient`` [LOGITS + 1, N] gets that of KL and entropy, ``log_pi`` and ``log_mu`` [G, N]
    the log-probabilities of ``action``, summed by group. ``reference`` [N, LOGITS], or [0, LOGITS]: no KL. ``weights``: of
    KL and entropy, both by the number of frames that count. ``sums``: KL and entropy of all frames. False when a number is not
    finite, or an action that counts is no bin."""
    frames = living.shape[0]
    has_reference = reference.shape[0] > 0
    rows = np.empty((BINS_IN_ALL, BLOCK), F)
    log_p, p = np.empty((MOST_BINS, BLOCK), F), np.empty((MOST_BINS, BLOCK), F)
    log_r, r = np.zeros((MOST_BINS, BLOCK), F), np.zeros((MOST_BINS, BLOCK), F)
    top, total, counts = np.empty(BLOCK, F), np.empty(BLOCK, F), np.empty(BLOCK, F)
    entropy, divergence = np.empty(BLOCK, F), np.empty(BLOCK, F)
    all_entropy, all_divergence = np.empty(BLOCK, F), np.empty(BLOCK, F)
    kl_weight, entropy_weight = F(weights[0]), F(weights[1])
    right = True
    sums[:2] = 0.0
    for begin in range(0, frames, BLOCK):
        count = min(BLOCK, frames - begin)
        end = begin + count
        log_pi[:, begin:end] = ZERO
        log_mu[:, begin:end] = ZERO
        all_entropy[:], all_divergence[:] = ZERO, ZERO
        if has_reference:
            for n in range(count):
                for k in range(BINS_IN_ALL):
                    rows[k, n] = reference[begin + n, k]
        for h in range(heads.shape[0]):
            start, size, g = heads[h, 0], heads[h, 1], heads[h, 2]
            _log_softmax(logits, start, size, begin, count, log_p, p, top, total)
            if has_reference:
                _log_softmax(rows, start, size, 0, count, log_r, r, top, total)
            for n in range(count):
                counts[n] = F(living[begin + n] & head_mask[begin + n, h])
            entropy[:], divergence[:] = ZERO, ZERO
            for k in range(size):
                for n in range(count):
                    entropy[n] -= p[k, n] * log_p[k, n]
                if has_reference:
                    for n in range(count):
                        divergence[n] += r[k, n] * (log_r[k, n] - log_p[k, n])
            for n in range(count):
                all_entropy[n] += entropy[n] if counts[n] > ZERO else ZERO
            for n in range(count):
                all_divergence[n] += divergence[n] if counts[n] > ZERO else ZERO
            for k in range(size):
                back = gradient[start + k][begin:end]
                _pull(p[k], log_p[k], entropy, r[k] if has_reference else p[k], kl_weight, entropy_weight, counts, back)
                logits[start + k][begin:end] = p[k][:count]
            right &= _take(action, head_mask, mu, begin, h, size, counts, log_p, log_pi[g][begin:end], log_mu[g][begin:end])
        for n in range(count):
            sums[0] += all_divergence[n]
            sums[1] += all_entropy[n]
    return right and np.isfinite(sums[0] + sums[1])


def _targets(
    log_pi, log_mu, values, following, reward, terminated, truncated, living, constants, ratio, advantage, upgoing, target,
):  # fmt: skip
    """V-trace advantages and UPGO's, each with its ratio's clip, [G, T, B], TD(lambda) ``target`` [T, B]; all 0 where a frame does
    not count. ``following``: V of the true successors. ``constants``: gamma, lambda, rho_bar, c_bar, pg_rho_bar. False when a number
    that counts is not finite, or the flags contradict each other."""
    steps, columns = values.shape
    gamma, lambda_ = F(constants[0]), F(constants[1])
    rho_bar, c_bar, pg_rho_bar = F(constants[2]), F(constants[3]), F(constants[4])
    returned, risen = np.zeros(columns, F), np.zeros(columns, F)
    follows, carried_on = np.ones(columns, np.bool_), np.zeros(columns, np.bool_)
    wrong = np.zeros(columns, np.bool_)
    for t in range(steps - 1, -1, -1):
        last = t == steps - 1
        for b in range(columns):
            counts = living[t, b]
            goes_on = counts and not terminated[t, b]
            done = terminated[t, b] or truncated[t, b]
            value = values[t, b] if counts else ZERO
            paid = reward[t, b] if counts else ZERO
            beyond = following[t, b] if goes_on else ZERO
            discount = gamma if goes_on else ZERO
            trace = ZERO if done or last else discount
            wrong[b] |= counts and ((terminated[t, b] and truncated[t, b]) or not (done or last or carried_on[b]))
            wrong[b] |= not np.isfinite(value + paid + beyond)
            carried = trace * lambda_
            returned[b] = paid + (discount - carried) * beyond + carried * returned[b]
            carried = trace if follows[b] else ZERO
            risen[b] = paid + (discount - carried) * beyond + carried * risen[b]
            target[t, b] = returned[b]
            upgoing[0, t, b] = risen[b] - value
            follows[b] = paid + discount * beyond >= value
            carried_on[b] = counts
    accumulated, after = np.empty(columns, F), np.empty(columns, F)
    for g in range(log_pi.shape[0] - 1, -1, -1):
        for b in range(columns):
            accumulated[b] = ZERO
        for t in range(steps - 1, -1, -1):
            last = t == steps - 1
            for b in range(columns):
                counts = living[t, b]
                goes_on = counts and not terminated[t, b]
                done = terminated[t, b] or truncated[t, b]
                value = values[t, b] if counts else ZERO
                paid = reward[t, b] if counts else ZERO
                beyond = following[t, b] if goes_on else ZERO
                discount = gamma if goes_on else ZERO
                trace = ZERO if done or last else discount
                behind = log_pi[g, t, b] - log_mu[g, t, b]
                wrong[b] |= not np.isfinite(behind)
                times = exp(behind) if counts else ZERO
                delta = min(rho_bar, times) * (paid + discount * beyond - value)
                accumulated[b] = delta + trace * (lambda_ * min(c_bar, times)) * accumulated[b]
                next_target = beyond if done or last else after[b]
                after[b] = value + accumulated[b]
                weight = min(pg_rho_bar, times)
                ratio[g, t, b] = times
                advantage[g, t, b] = weight * (paid + discount * next_target - value)
                upgoing[g, t, b] = weight * upgoing[0, t, b]
    return not wrong.any()


def _measure(ratio, advantage, values, target, living, rho_bar, moments, statistics):
    """``moments`` [G, 2]: mean and deviation of the advantages of all frames that count. ``statistics``: the ratios' mean, the share of
    them above ``rho_bar``, the targets' variance, that of their errors."""
    groups, frames = ratio.shape
    statistics[:] = 0.0
    count = 0
    target_mean, error_mean = 0.0, 0.0
    for n in range(frames):
        if living[n]:
            count += 1
            target_mean += target[n]
            error_mean += target[n] - values[n]
    target_mean, error_mean = target_mean / count, error_mean / count
    limit = F(rho_bar * (1.0 + 1e-6))
    for g in range(groups):
        mean, above, ratios = 0.0, 0, 0.0
        for n in range(frames):
            if living[n]:
                mean += advantage[g, n]
                ratios += ratio[g, n]
                above += ratio[g, n] > limit
        mean /= count
        square = 0.0
        for n in range(frames):
            if living[n]:
                off = advantage[g, n] - mean
                square += off * off
        moments[g, 0], moments[g, 1] = mean, np.sqrt(square / count)
        statistics[0] += ratios / (count * groups)
        statistics[1] += above / (count * groups)
    for n in range(frames):
        if living[n]:
            off, wide = target[n] - target_mean, target[n] - values[n] - error_mean
            statistics[2] += off * off / count
            statistics[3] += wide * wide / count


@_compiled
def _keep_trusted(strength, ratio, lowest, highest):
    """0 where a ratio is beyond the trust region and would be driven on."""
    for n in range(len(strength)):
        trusted = ratio[n] <= highest if strength[n] > ZERO else ratio[n] >= lowest
        strength[n] = strength[n] if trusted else ZERO


def _policy_gradient(
    p, action, head_mask, living, heads, log_pi, values, target, ratio, advantage, upgoing, weights, region, moments, gradient, sums
):
    """Add the policy's, UPGO's and the value's gradient to ``gradient`` [LOGITS + 1, N]; ``p`` as ``log_policy`` left it. ``weights``: of
    policy, UPGO and value, each by the number of frames that count. ``region``: the least and the greatest ratio within the trust region.
    ``moments`` [G, 2]: what is taken off the advantages, and what they and UPGO's are divided by. ``sums``: policy, UPGO and value of
    all frames, without weights."""
    groups, frames = log_pi.shape
    sums[:] = 0.0
    policy_weight, upgo_weight, value_weight = F(weights[0]), F(weights[1]), F(2.0 * weights[2])
    lowest, highest = F(region[0]), F(region[1])
    strength = np.empty((groups, BLOCK), F)
    pushed, better, rising = np.empty(BLOCK, F), np.empty(BLOCK, F), np.empty(BLOCK, F)
    for begin in range(0, frames, BLOCK):
        count = min(BLOCK, frames - begin)
        end = begin + count
        for g in range(groups):
            mean, divisor = F(moments[g, 0]), ONE / F(moments[g, 1])
            taken, raised, log_p = advantage[g][begin:end], upgoing[g][begin:end], log_pi[g][begin:end]
            for n in range(count):
                better[n] = (taken[n] - mean) * divisor if living[begin + n] else ZERO
            for n in range(count):
                rising[n] = raised[n] * divisor
            _keep_trusted(better[:count], ratio[g][begin:end], lowest, highest)
            _keep_trusted(rising[:count], ratio[g][begin:end], lowest, highest)
            for n in range(count):
                strength[g, n] = policy_weight * better[n] + upgo_weight * rising[n]
            for n in range(count):
                sums[0] -= better[n] * log_p[n]
                sums[1] -= rising[n] * log_p[n]
        for n in range(count):
            error = values[begin + n] - target[begin + n] if living[begin + n] else ZERO
            sums[2] += error * error
            gradient[BINS_IN_ALL, begin + n] = value_weight * error
        for h in range(heads.shape[0]):
            start, size, g = heads[h, 0], heads[h, 1], heads[h, 2]
            for n in range(count):
                pushed[n] = strength[g, n] if living[begin + n] & head_mask[begin + n, h] else ZERO
            for k in range(size):
                back, chance = gradient[start + k][begin:end], p[start + k][begin:end]
                for n in range(count):
                    back[n] += pushed[n] * chance[n] if pushed[n] != ZERO else ZERO
            for n in range(count):
                if pushed[n] != ZERO:
                    gradient[start + action[begin + n, h], begin + n] -= pushed[n]


_F1, _F2, _F3 = (types.Array(types.float32, rank, "C") for rank in (1, 2, 3))
_B1, _B2 = (types.Array(types.boolean, rank, "C") for rank in (1, 2))
_ACTIONS, _HEADS = types.Array(types.int8, 2, "C"), types.Array(types.int64, 2, "C")
_D1, _D2 = types.Array(types.float64, 1, "C"), types.Array(types.float64, 2, "C")
_kept = {"cache": True, **_options}
log_policy = njit(types.boolean(_F2, _F2, _ACTIONS, _B2, _B1, _F2, _HEADS, _D1, _F2, _F2, _F2, _D1), **_kept)(_log_policy)
targets = njit(types.boolean(_F3, _F3, _F2, _F2, _F2, _B2, _B2, _B2, _D1, _F3, _F3, _F3, _F2), **_kept)(_targets)
measure = njit(types.void(_F2, _F2, _F1, _F1, _B1, types.float64, _D2, _D1), **_kept)(_measure)
policy_gradient = njit(
    types.void(_F2, _ACTIONS, _B2, _B1, _HEADS, _F2, _F1, _F1, _F2, _F2, _F2, _D1, _D1, _D2, _F2, _D1), **_kept
)(_policy_gradient)  # fmt: skip
