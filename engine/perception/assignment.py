"""Who is who: pairing tracks with detections at the least total cost.

Pairs that leave no choice are taken at once; only the groups in which two tracks want one detection (or the other
way round) go through the Hungarian method (Kuhn 1955, in the shortest-path form of Jonker and Volgenant 1987).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

_EXACT_LIMIT: Final = 24
"""Larger groups are paired greedily: exact pairing in Python would take milliseconds."""


def assign(cost: NDArray[np.float32]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pair rows with columns. cost: [R, C], infinite where a pair is not allowed.

    Returns two index arrays of equal length. As many pairs as possible are made where the groups are small, and
    among those the cheapest.
    """
    allowed = np.isfinite(cost)
    per_row, per_column = allowed.sum(1), allowed.sum(0)
    rows, columns = np.nonzero(allowed)
    clear = (per_row[rows] == 1) & (per_column[columns] == 1)
    sure_rows, sure_columns = rows[clear], columns[clear]
    if clear.all():
        return sure_rows, sure_columns
    open_rows, open_columns = np.unique(rows[~clear]), np.unique(columns[~clear])
    table = cost[np.ix_(open_rows, open_columns)]
    more: list[tuple[int, int]] = []
    for group_rows, group_columns in _groups(np.isfinite(table)):
        part = table[np.ix_(group_rows, group_columns)]
        pairs = _hungarian(part) if max(part.shape) <= _EXACT_LIMIT else _greedy(part)
        more.extend((group_rows[r], group_columns[c]) for r, c in pairs)
    return (
        np.concatenate([sure_rows, open_rows[[r for r, _ in more]]]).astype(np.intp),
        np.concatenate([sure_columns, open_columns[[c for _, c in more]]]).astype(np.intp),
    )


def _groups(allowed: NDArray[np.bool_]) -> list[tuple[list[int], list[int]]]:
    """The connected parts of the table of allowed pairs."""
    neighbours = [np.flatnonzero(row).tolist() for row in allowed]
    back = [np.flatnonzero(column).tolist() for column in allowed.T]
    seen = [False] * len(neighbours)
    found: list[tuple[list[int], list[int]]] = []
    for start in range(len(neighbours)):
        if seen[start]:
            continue
        seen[start] = True
        rows, columns, todo = [start], set[int](), [start]
        while todo:
            for column in neighbours[todo.pop()]:
                if column in columns:
                    continue
                columns.add(column)
                for row in back[column]:
                    if not seen[row]:
                        seen[row] = True
                        rows.append(row)
                        todo.append(row)
        found.append((rows, sorted(columns)))
    return found


def _greedy(cost: NDArray[np.float32]) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    rows, columns = set[int](), set[int]()
    for flat in np.argsort(cost, axis=None, kind="stable").tolist():
        row, column = divmod(flat, cost.shape[1])
        if not np.isfinite(cost[row, column]):
            break
        if row not in rows and column not in columns:
            rows.add(row)
            columns.add(column)
            pairs.append((row, column))
    return pairs


def _hungarian(cost: NDArray[np.float32]) -> list[tuple[int, int]]:
    """Exact pairing of a small table; pairs that are not allowed are left out of the result."""
    if cost.shape[0] > cost.shape[1]:
        return [(row, column) for column, row in _hungarian(np.ascontiguousarray(cost.T))]
    n, m = cost.shape
    finite = cost[np.isfinite(cost)]
    forbidden = float(finite.max(initial=0.0)) * (n + 1) + 1e6
    filled: NDArray[np.float64] = np.asarray(np.where(np.isfinite(cost), cost, forbidden), np.float64)
    table: list[list[float]] = [[float(v) for v in line] for line in filled]
    row_price, column_price = [0.0] * (n + 1), [0.0] * (m + 1)
    row_of, before = [0] * (m + 1), [0] * (m + 1)
    for row in range(1, n + 1):
        row_of[0] = row
        column = 0
        slack, visited = [float("inf")] * (m + 1), [False] * (m + 1)
        while row_of[column]:
            visited[column] = True
            at: int = row_of[column]
            step, following = float("inf"), 0
            prices: list[float] = table[at - 1]
            base: float = row_price[at]
            for c in range(1, m + 1):
                if visited[c]:
                    continue
                reduced: float = prices[c - 1] - base - column_price[c]
                if reduced < slack[c]:
                    slack[c], before[c] = reduced, column
                if slack[c] < step:
                    step, following = slack[c], c
            for c in range(m + 1):
                if visited[c]:
                    row_price[row_of[c]] += step
                    column_price[c] -= step
                else:
                    slack[c] -= step
            column = following
        while column:
            row_of[column] = row_of[before[column]]
            column = before[column]
    return [(row_of[c] - 1, c - 1) for c in range(1, m + 1) if row_of[c] and np.isfinite(cost[row_of[c] - 1, c - 1])]
