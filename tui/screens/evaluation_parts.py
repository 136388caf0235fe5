"""One evaluation and the comparison of two as lines of text. Pure: no widget, no disk; what was not kept is left out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.text import Text

from data.text import printable
from data.vocabulary import MODES
from engine import kept_levels
from engine.comparison import Difference, Kept, KeptRung, not_flown, other_look
from engine.kept_levels import Figure, Level, number, shown
from engine.scores import Interval
from tui.bars import beside, columns, figure, gain_bar, heat, interval_bar, share_bar
from tui.moments import moment
from tui.panes.base import wrapped
from tui.theme import Look

LEVELS: Final[Mapping[Level, str]] = {
    "mode": "Strategist: which mode",
    "target": "Tactician: which target",
    "action": "Executor: where and when",
}
TICK_MS: Final = 50
SIDE: Final = 62
"""Where the right one of two blocks begins, on a page that is wide enough for both."""
WIDE: Final = 112


def values(found: Interval, digits: int = 2) -> str:
    return f"{figure(found.value, digits)} [{figure(found.low, digits)}, {figure(found.high, digits)}]"


def drawn(kept: Kept) -> str:
    """The look that it was flown in, where that is not the usual one."""
    return f", look {printable(kept.unusual_look)}" if kept.unusual_look else ""


def summed_up(kept: Kept) -> str:
    """By which rules, or of which game, and how often it flew: ``rules 2, 20 episodes``; ``game mine, not flown``."""
    rules = f"rules {kept.rules_version}" if kept.rules_version is not None else f"game {printable(kept.game)}"
    return f"{rules}, not flown" if kept.episodes is None else f"{rules}, {kept.episodes} episodes"


def played(kept: Kept) -> str:
    """What its levels were judged on: ``5.0 min of unseen play of the expert``."""
    minutes, play = number(kept.levels, "minutes"), printable(kept.play) or f"play ({kept.judged_on})"
    return f"{minutes:.1f} min of {play}" if math.isfinite(minutes) else play


def about(kept: Kept, look: Look) -> list[Text]:
    """Who was judged, when, by which rules, against whom."""
    palette = look.palette
    head = Text.assemble((printable(kept.policy), "bold"), (f"  {kept.at} UTC", palette.dim), no_wrap=True)
    facts = summed_up(kept)
    facts += f" of {kept.episode_s:.0f} s" if kept.episode_s else ""
    facts += f", worlds from {kept.first_seed}" if kept.first_seed is not None else ""
    facts += drawn(kept)
    facts += f", took {moment(kept.seconds, fine=False)}" if kept.seconds else ""
    return [head, Text(facts, palette.dim, no_wrap=True)]


def ladder(kept: Kept, width: int, look: Look) -> list[Text]:
    """A rung a line: the normalised score with its interval, drawn between random and the demonstrator."""
    palette = look.palette
    if kept.random is None or kept.demonstrator is None:
        words = "  not flown, so without a score: its levels alone were judged"
        return [_title("Flown: from what it sees", look), Text(words, palette.dim, no_wrap=True)]
    roomy = width >= 110
    bar = max(12, min(60, width - (84 if roomy else 46)))
    who = printable(kept.demonstrator_name) or "the demonstrator"
    scale = Text(" " * 11, palette.dim, no_wrap=True)
    scale.append("0 random".ljust(max(9, bar - len(f"{who} 1"))) + f"{who} 1")
    lines = [_title("Flown: from what it sees", look), scale]
    for rung in kept.rungs:
        line = Text(f"  {rung.name:<9}", no_wrap=True)
        line.append_text(interval_bar(rung.normalised, bar, look))
        line.append(f" {values(rung.normalised)}", "bold" if rung is kept.hardest else "")
        line.append(f"  {rung.score.value:.1f} points{_deeds(rung) if roomy else ''}", palette.dim)
        lines.append(line)
    points = f"random {values(kept.random, 1)} points, {who} {values(kept.demonstrator, 1)}"
    last = f"; what counts is {kept.hardest.name}" if kept.hardest is not None and width >= 100 else ""
    return [*lines, Text(f"  {points}{last}" if kept.rungs else "  nothing was flown", palette.dim, no_wrap=True)]


def _deeds(rung: KeptRung) -> str:
    """What an episode of it brought."""
    words = (("kills", "kills"), ("looted", "loot"), ("caches", "caches"), ("deaths", "deaths"))
    return "".join(f", {rung.counters[name]:.1f} {word}" for name, word in words if name in rung.counters)


def page(kept: Kept, width: int, look: Look) -> list[Text]:
    """The whole page of one evaluation, for a pane of this width."""
    lines = [*about(kept, look), Text(), *ladder(kept, width, look), Text()]
    if not kept.levels:
        lines.append(
            Text("  The levels were not judged: this evaluation only flew. A new one judges them on unseen play.", look.palette.warn)
        )
        return lines
    lines += [*wrapped(Text(f"Each level on {played(kept)}", "bold"), width), signs(look)]
    lines += summary(kept.levels, width, look)
    for block in (_mode(kept.levels, width, look), _sure(kept.levels, look, width), _executor(kept.levels, width, look)):
        lines += [Text(), *block] if block else []
    return lines


def signs(look: Look) -> Text:
    """What the signs and strokes of the figures mean."""
    glyphs = look.glyphs
    words = f"  {glyphs.good} above what needs no skill, {glyphs.failed} not above it; {glyphs.separator} is where it lies"
    return Text(words, look.palette.dim, no_wrap=True)


def brief(kept: Kept, width: int, look: Look) -> list[Text]:
    """One figure of each level on a line, for where there is no room for the page."""
    lines = [figure_lines(found, width, look)[0] for found in kept_levels.main_figures(kept.levels).values()]
    return [*lines, signs(look)] if lines else []


def summary(levels: Mapping[str, Any], width: int, look: Look) -> list[Text]:
    """The figures of each level beside what needs no skill, then what this version has no name for."""
    lines: list[Text] = []
    found = kept_levels.figures(levels)
    for level, title in LEVELS.items():
        mine, more = [one for one in found if one.level == level], kept_levels.others(levels, level)
        if mine or more:
            lines += [_title(title, look), *(line for one in mine for line in figure_lines(one, width, look))]
            lines += [Text(f"    {name}: {figure(value, 3)}", look.palette.dim, no_wrap=True) for name, value in more]
    return lines or [Text("  no figure was kept", look.palette.dim)]


def figure_lines(found: Figure, width: int, look: Look) -> list[Text]:
    """A figure with its bar, and what it is held against beside it, or below where that is too long."""
    palette, glyphs = look.palette, look.glyphs
    sign, style = {True: (glyphs.good, palette.good), False: (glyphs.failed, palette.bad), None: (glyphs.dot, palette.dim)}[found.above]
    line = Text.assemble((f"  {sign:<2} ", style), f"{found.name:<25}", no_wrap=True)
    line.append(f"{shown(found.value, found.unit):>7} ", "bold")
    bar = 16 if width >= 100 else 10
    line.append_text(share_bar(found.value, bar, look, [found.hardest]) if found.unit == "share" else Text(" " * bar))
    parts = _against(found)
    text = "; ".join(parts)
    if line.cell_len + 1 + len(text) <= width:
        return [line.append(f" {text}", palette.dim)]
    return [line, *(Text(f"     {text}", palette.dim, no_wrap=True) for text in _packed(parts, width - 5))]


def _packed(parts: Sequence[str], width: int) -> list[str]:
    """Parts in lines of that width, each whole; one that is too long for a line has one of its own."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + 2 + len(part) <= width:
            lines[-1] += f"; {part}"
        else:
            lines.append(part)
    return lines


def _against(found: Figure) -> list[str]:
    """Where it may lie, what it is above, what it is not, and what the demonstrator's second run scores."""
    above, below = ("above", "not above") if found.unit == "share" else ("nearer than", "no nearer than")
    told = [f"95 % {shown(found.interval[0])} to {shown(found.interval[1])}"] if found.interval is not None else []
    known = [base for base in found.bases if math.isfinite(base.value)]
    beaten = [base for base in known if (found.value > base.value if found.unit == "share" else found.value < base.value)]
    out = [
        f"{word} {', '.join(f'{shown(base.value, found.unit)} {base.words}' for base in bases)}"
        for word, bases in ((below, [base for base in known if base not in beaten]), (above, beaten))
        if bases
    ]
    out = told + out
    return [*out, f"{shown(found.again, found.unit)} the demonstrator again"] if math.isfinite(found.again) else out


def _mode(levels: Mapping[str, Any], width: int, look: Look) -> list[Text]:
    """Per-class recall and the confusion matrix."""
    palette = look.palette
    recalls, confusion = kept_levels.recalls(levels), kept_levels.confusion(levels)
    left: list[Text] = []
    if confusion:
        names = [*MODES, *(f"class {n}" for n in range(len(MODES), len(confusion)))][: len(confusion)]
        left = [_title("Modes: label down, answer across, %", look)]
        left.append(Text(" " * 18 + "".join(f"{name.lower()[:5]:>5} " for name in names), palette.dim, no_wrap=True))
        for name, row in zip(names, confusion, strict=True):
            total = sum(row)
            line = Text.assemble((f"  {name.lower():<9}{total:>6,} ", palette.dim), no_wrap=True)
            for n in row:
                line.append_text(heat(n / total, look) if total else Text("    - ", palette.dim))
            left.append(line)
    right: list[Text] = []
    if recalls:
        right = [_title("Found of each class", look)]
        for name, share in recalls.items():
            line = Text.assemble((f"  {name.lower():<9}", palette.dim), no_wrap=True)
            line.append_text(share_bar(share, 20, look))
            line.append(f" {figure(share)}")
            right.append(line)
    return _two(left, right, width)


def _sure(levels: Mapping[str, Any], look: Look, width: int) -> list[Text]:
    """How often right, by how sure; how late the clicks come."""
    palette = look.palette
    left: list[Text] = []
    for level, found in (("mode", kept_levels.sureness(levels, "mode")), ("target", kept_levels.sureness(levels, "target"))):
        if found is None:
            continue
        left = left or [_title("Sureness: each tenth of it, 0 to 1", look)]
        right = [r if n else math.nan for r, n in zip(found.right, found.count, strict=True)]
        sure = [c if n else math.nan for c, n in zip(found.confidence, found.count, strict=True)]
        total = sum(found.count)
        bias = sum((c - r) * n for c, r, n in zip(found.confidence, found.right, found.count, strict=True)) / total if total else 0.0
        word = "as sure as right" if abs(bias) < 0.02 else "too sure" if bias > 0 else "not sure enough"
        for name, row, text in (
            (f"{level} is right", right, f"off by {figure(found.error)}: {word}"),
            ("says it is", sure, f"{total:,} answers"),
        ):
            line = Text.assemble((f"  {name:<16}", palette.dim), no_wrap=True)
            line.append_text(columns(row, look, 2, 1.0))
            line.append(f" {text}", "" if row is right else palette.dim)
            left.append(line)
    return _two(left, _late(levels, look), width)


def _late(levels: Mapping[str, Any], look: Look) -> list[Text]:
    palette = look.palette
    sweep, best, causality = kept_levels.lag_sweep(levels), kept_levels.best_lag(levels), number(levels, "causality")
    lines: list[Text] = []
    if sweep:
        lines = [_title("Reaction lag: left clicks, moved back by ticks", look)]
        lines.append(Text("  ticks " + "".join(f"{lag:>3}" for lag in sweep), palette.dim, no_wrap=True))
        lines.append(_spread("  F1    ", list(sweep.values()), look))
        if best is None:
            text = "  no click of the policy met one of the demonstrator"
        else:
            late = f"{abs(best) * TICK_MS} ms {'late' if best > 0 else 'early'}" if best else "in time"
            text = f"  best at {best:+d}: it clicks {late}, F1 {figure(sweep[best])}"
        lines.append(Text(text, no_wrap=True))
    if math.isfinite(causality):
        sign, word, style = (
            (look.glyphs.good, "it looks", palette.good)
            if causality >= 0.5
            else (look.glyphs.needs, "it looks little", palette.warn)
            if causality >= 0.1
            else (look.glyphs.failed, "a copycat: it does not look", palette.bad)
        )
        lines += [] if lines else [_title("Causality", look)]
        lines.append(Text.assemble((f"  {sign} {word}", style), f": {causality:.0%} of points move with the pictures", no_wrap=True))
    return lines


def _spread(name: str, row: Sequence[float], look: Look) -> Text:
    """Columns of blocks under numbers three wide."""
    line = Text(name, look.palette.dim, no_wrap=True)
    top = max((value for value in row if math.isfinite(value)), default=0.0)
    for value in row:
        line.append(" ")
        line.append_text(columns([value], look, 2, top))
    return line


def _executor(levels: Mapping[str, Any], width: int, look: Look) -> list[Text]:
    """The Executor with predicted, dropped and true target; each input's presses."""
    palette = look.palette
    left: list[Text] = []
    told = kept_levels.told(levels)
    if told:
        left = [
            _title("Executor, by the target it is told", look),
            Text(f"  {'target':<26}{'off':>7}{'lands':>7}  {'click F1':>8}", palette.dim),
        ]
        for name in told:
            clicks = next((one.f1 for one in kept_levels.onsets(levels, name) if one.name == "mouse_left"), math.nan)
            lands = number(levels, "actions", name, "lands")
            point = shown(number(levels, "actions", name, "point_px"), "px")
            text = f"{point:>7}{'none' if not math.isfinite(lands) else f'{lands:.0%}':>7}  {figure(clicks):>8}"
            left.append(Text.assemble((f"  {kept_levels.TOLD.get(name, name):<26}", palette.dim), text, no_wrap=True))
        before = number(levels, "actions", told[0], "cursor_before_px")
        left.append(Text(f"  {'cursor 0.5 s before':<26}{shown(before, 'px'):>7}", palette.dim, no_wrap=True))
    right: list[Text] = []
    onsets = kept_levels.onsets(levels, "predicted")
    if onsets:
        right = [
            _title("New presses: F1 within 2 ticks, in the very tick", look),
            Text(f"  {'input':<9}{'in 2':>6}{'exact':>6}{'evenly':>7}{'again':>6}{'pressed':>8}{'by it':>6}", palette.dim),
        ]
        for one in onsets:
            above = one.f1 > one.even
            sign, style = (look.glyphs.good, palette.good) if above else (look.glyphs.failed, palette.bad)
            line = Text.assemble((f"{sign:<3}", style), f"{one.name.removeprefix('mouse_')[:8]:<9}", no_wrap=True)
            line.append(f"{figure(one.f1):>5}", "bold")
            line.append(f"{figure(one.exact):>6}{figure(one.even):>7}{figure(one.again):>6}{one.true:>8,}{one.predicted:>6,}", palette.dim)
            right.append(line)
    return _two(left, right, width)


def _two(left: list[Text], right: list[Text], width: int) -> list[Text]:
    """Beside each other where there is room, else one below the other."""
    if width >= WIDE and left and right:
        return beside(left, right, SIDE)
    return [*left, *([Text()] if left and right else []), *right]


def _title(text: str, look: Look) -> Text:
    return Text(text, look.palette.accent, no_wrap=True)


# ---- two of them


def verdict(first: Kept, second: Kept, found: Sequence[Difference], look: Look) -> tuple[str, str, str]:
    """Sign, words and style: whether the second flies better than the first, by the hardest rung that both have."""
    glyphs, palette = look.glyphs, look.palette
    if not found and (missing := not_flown(first, second) or other_look(first, second)):
        return glyphs.needs, missing, palette.warn
    if not found:
        return glyphs.needs, "They have no rung in common that was flown twice or more: nothing can be said", palette.warn
    last = found[-1]
    seen = {"pixels": "from pixels", "state": "from the exact state", "emulated": "with emulated perception"}.get(
        last.rung, f"from {last.rung}"
    )
    gain = f"{last.gain.value:+.2f} [{last.gain.low:+.2f}, {last.gain.high:+.2f}]"
    if last.verdict == "not enough evidence":
        more = f"; {last.lacking}" if last.lacking else ""
        return glyphs.needs, f"Not enough evidence that either flies better {seen}: {gain}{more}", palette.warn
    sign, style = (glyphs.good, palette.good) if last.verdict == "better" else (glyphs.failed, palette.bad)
    return sign, f"B is {last.verdict} than A {seen}: {gain} of the way from random to the demonstrator", style


def comparison(first: Kept, second: Kept, found: Sequence[Difference], width: int, look: Look) -> list[Text]:
    """The page of two: the verdict, each rung with both bars and the gain, the levels beside each other."""
    palette = look.palette
    sign, words, style = verdict(first, second, found, look)
    lines: list[Text] = []
    for letter, kept in (("A", first), ("B", second)):
        line = Text.assemble((f"{letter} ", "bold"), (printable(kept.policy), "bold"), no_wrap=True)
        line.append(f"  {kept.at} UTC, {summed_up(kept)}{drawn(kept)}", palette.dim)
        lines.append(line)
    lines += [Text(), *wrapped(Text(f"{sign} {words}.", f"{style} bold"), width)]
    if found and (missing := other_look(first, second)):
        lines += wrapped(Text(f"{look.glyphs.needs} {missing}.", palette.warn), width)
    lines += [Text()] if found else []
    bar = max(16, min(48, width - 40))
    reach = max(0.25, max((max(abs(d.gain.low), abs(d.gain.high)) for d in found), default=0.0))
    for difference in found:
        lines.append(_title(f"{difference.rung}", look))
        for letter, kept in (("A", first), ("B", second)):
            rung = kept.rung(difference.rung)
            if rung is not None:
                line = Text(f"  {letter:<6}", no_wrap=True)
                line.append_text(interval_bar(rung.normalised, bar, look))
                line.append(f" {values(rung.normalised)}")
                lines.append(line)
        sign, style = {"better": (look.glyphs.good, palette.good), "worse": (look.glyphs.failed, palette.bad)}.get(
            difference.verdict, (look.glyphs.needs, palette.warn)
        )
        line = Text("  B - A ", palette.dim, no_wrap=True)
        line.append_text(gain_bar(difference.gain, bar, reach, look))
        gain = difference.gain
        line.append(f" {gain.value:+.2f} [{gain.low:+.2f}, {gain.high:+.2f}]")
        lines.append(line)
        lacking = f": {difference.lacking}" if difference.lacking else ""
        lines.append(Text(f"        {sign} {difference.verdict}{lacking}", style, no_wrap=True))
    if found:
        lines += [Text(line, palette.dim) for line in _how(first, second, found[0])]
    return [*lines, *_levels_of_two(first, second, width, look)]


def _how(first: Kept, second: Kept, found: Difference) -> list[str]:
    """How the two were compared, and over which episodes."""
    n = found.gain.n
    if not found.paired:
        how = "different worlds, which scatters more; evaluate both from the same first seed to compare them closely"
    elif first.episodes != second.episodes:
        how = f"pair by pair on the {n} worlds that both flew (A {first.episodes}, B {second.episodes}): the gain is of those alone"
    else:
        how = "pair by pair on the same worlds"
    return [f"95 % intervals (Student's t) over {n} episodes; 0 random, 1 the demonstrator", how]


def _levels_of_two(first: Kept, second: Kept, width: int, look: Look) -> list[Text]:
    palette = look.palette
    both = kept_levels.in_both(first.levels, second.levels)
    if not both:
        missing = " and ".join(letter for letter, kept in (("A", first), ("B", second)) if not kept.levels)
        return [Text(), Text(f"The levels cannot be compared: those of {missing} were not judged", palette.dim)] if missing else []
    lines = [Text(), _title("Each level (one play each: a hint, no verdict)", look)]
    if first.play != second.play:
        for letter, kept in (("A", first), ("B", second)):
            lines += wrapped(Text(f"  {letter} on {played(kept)}", palette.dim), width)
    lines.append(Text(f"  {'':<36}{'A':>7}{'B':>8}{'change':>9}", palette.dim, no_wrap=True))
    for a, b in both:
        change = b.value - a.value
        digits = 0 if a.unit == "px" else 2
        up = change < 0 if a.unit == "px" else change > 0
        same = f"{change:.{digits}f}".lstrip("-") == f"{0.0:.{digits}f}"
        words = ("nearer", "farther") if a.unit == "px" else ("higher", "lower")
        sign, word = (look.glyphs.dot, "same") if same else (look.glyphs.up, words[0]) if up else (look.glyphs.down, words[1])
        style = palette.dim if same else palette.good if up else palette.bad
        name = f"{a.level}: {a.name}"
        line = Text.assemble((f"  {name:<36}", palette.dim), f"{shown(a.value, a.unit):>7}{shown(b.value, b.unit):>8}", no_wrap=True)
        line.append(f"{change:>+9.{digits}f}  {sign} {word}", style)
        lines.append(line)
    return lines
