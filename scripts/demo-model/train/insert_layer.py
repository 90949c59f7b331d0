"""Inserts a layer into the weights of a run, which compute the same as before: its outputs are zero until it is trained.

    python3 insert_layer.py --run DIR --at N --out DIR

The folder of --out gets weights.pt, to begin a run with (`train.py --begin`, with one more of `--layers`). N counts from 0.
"""

import argparse
import os

import torch

from checkpoint import latest_checkpoint
from model import is_matrix


def inserted(weights, at, seed=5):
    """The weights with the layers from `at` on moved up by one, and a new one there, as widely spread as its neighbour."""
    draw = torch.Generator().manual_seed(seed)
    longer = {}
    for name, weight in weights.items():
        kind, _, layer = name.partition(".")
        longer[f"{kind}.{int(layer) + 1}" if layer and int(layer) >= at else name] = weight
    for kind in {name.split(".")[0] for name in weights if "." in name}:
        neighbour = weights[f"{kind}.{at}"]
        if kind in ("out", "down"):
            longer[f"{kind}.{at}"] = torch.zeros_like(neighbour)
        elif is_matrix(kind):
            longer[f"{kind}.{at}"] = torch.randn(neighbour.shape, generator=draw) * neighbour.std()
        else:
            longer[f"{kind}.{at}"] = neighbour.clone()
    return longer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", required=True)
    parser.add_argument("--at", type=int, required=True)
    parser.add_argument("--out", required=True)
    given = parser.parse_args()
    kept = latest_checkpoint(given.run)
    shape = kept["shape"]
    if not 0 <= given.at < shape["layers"]:
        parser.error(f"--at is from 0 to {shape['layers'] - 1}")
    os.makedirs(given.out, exist_ok=True)
    longer = {"weights": inserted(kept["weights"], given.at), "shape": {**shape, "layers": shape["layers"] + 1}, "seen": 0}
    torch.save(longer, f"{given.out}/weights.pt")


if __name__ == "__main__":
    main()
