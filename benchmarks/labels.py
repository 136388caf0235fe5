"""How well do the hindsight rules say what the demonstrators meant? Their own mode and target are the truth.

    python -m benchmarks.labels --minutes 20

Prints balanced accuracy, recalls and the confusion of modes (rows: what the pilot meant), and how often the labelled target is
the pilot's, for expert and novice, from exact state and with emulated perception. Writes dated JSON to ``benchmarks/results/``.
"""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from data.hindsight import label_modes, label_targets
from data.schema import NO_TARGET
from data.vocabulary import MODES
from engine.unseen_play import unseen_play
from league.arena.skirmish import RULES_VERSION
from trainers import metrics


def judge(pilot: str, minutes: float, rung: Any) -> dict[str, Any]:
    play = unseen_play(pilot, minutes, rung)
    meant = np.concatenate([s.mode for s in play]).astype(np.int64)
    said = np.concatenate([label_modes(s) for s in play]).astype(np.int64)
    confusion = np.zeros((len(MODES), len(MODES)), np.int64)
    np.add.at(confusion, (meant[meant >= 0], said[meant >= 0]), 1)
    aimed = np.concatenate([s.target_id for s in play])
    target = np.concatenate([label_targets(s) for s in play])
    both = (aimed != NO_TARGET) & (target != NO_TARGET)
    found = metrics.recalls(meant, said, len(MODES))
    return {
        "pilot": pilot,
        "rung": rung,
        "rows": len(meant),
        "balanced_accuracy": metrics.balanced_accuracy(meant, said, len(MODES)),
        "accuracy": float((meant == said)[meant >= 0].mean()),
        "majority": metrics.majority_accuracy(meant),
        "recalls": {m: round(float(r), 3) for m, r in zip(MODES, found, strict=True) if np.isfinite(r)},
        "confusion": confusion.tolist(),
        "target_agrees": float((aimed == target)[both].mean()) if both.any() else None,
        "target_said_of_aimed": float((target != NO_TARGET)[aimed != NO_TARGET].mean()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=20.0, help="play of each pilot")
    arguments = parser.parse_args()
    results = [judge(pilot, arguments.minutes, rung) for pilot in ("expert", "novice") for rung in ("state", "emulated")]
    for r in results:
        recalls = ", ".join(f"{m.lower()} {v:.2f}" for m, v in r["recalls"].items())
        shares = f"balanced {r['balanced_accuracy']:.3f}, accuracy {r['accuracy']:.3f} (commonest {r['majority']:.3f})"
        print(f"{r['pilot']} from {r['rung']}: {shares}; {recalls}")
        agrees = "nothing to compare" if r["target_agrees"] is None else f"{r['target_agrees']:.3f}"
        print(f"  target: agrees {agrees}, said for {r['target_said_of_aimed']:.3f} of the rows that have one")
        for mode, row in zip(MODES, r["confusion"], strict=True):
            print(f"  {mode:<9}" + "".join(f"{n:>8}" for n in row))
    now = datetime.now(UTC)
    path = Path(__file__).with_name("results") / f"labels_{now:%Y-%m-%d_%H%M}.json"
    content = {"at": now.isoformat(timespec="seconds"), "rules_version": RULES_VERSION, "options": vars(arguments), "results": results}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(path.name)


if __name__ == "__main__":
    main()
