"""What a run has kept: weights.pt of its end, or checkpoint.pt, whichever has seen more of the text."""

import os
import sys

import torch


def latest_checkpoint(run):
    """Weights, shape and so on; which file they are from is told on standard error."""
    files = [f"{run}/{name}" for name in ("weights.pt", "checkpoint.pt") if os.path.exists(f"{run}/{name}")]
    if not files:
        sys.exit(f"{run} holds neither weights.pt nor checkpoint.pt")
    all_kept = {file: torch.load(file, map_location="cpu") for file in files}
    file = max(files, key=lambda file: all_kept[file]["seen"])
    print(f"{file}: {all_kept[file]['seen']} tokens seen", file=sys.stderr)
    return all_kept[file]
