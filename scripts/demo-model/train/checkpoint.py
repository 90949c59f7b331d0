"""Loads the latest checkpoint of a run: weights.pt of its end, or checkpoint.pt, whichever has seen more tokens."""

import os
import sys

import torch


def latest_checkpoint(run):
    """Weights, shape and so on; prints the name of their file to standard error."""
    files = [f"{run}/{name}" for name in ("weights.pt", "checkpoint.pt") if os.path.exists(f"{run}/{name}")]
    if not files:
        sys.exit(f"{run} holds neither weights.pt nor checkpoint.pt")
    checkpoints = {file: torch.load(file, map_location="cpu") for file in files}
    file = max(files, key=lambda file: checkpoints[file]["seen"])
    print(f"{file}: {checkpoints[file]['seen']} tokens seen", file=sys.stderr)
    return checkpoints[file]
