"""``python -m league.runners.ray_probe ADDRESS``: join a Ray cluster, say as JSON what it is, or why it did not go, and leave."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

from league.runners.ray_cluster import need_ray


def probe(address: str) -> dict[str, Any]:
    """Plain values: nodes and cores, or the error."""
    ray: Any = need_ray()
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL)
        nodes = [node for node in ray.nodes() if node["Alive"]]
        return {"nodes": len(nodes), "cores": ray.cluster_resources().get("CPU", 0)}
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return {"error": lines[0]}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(probe(sys.argv[1])) + "\n")
