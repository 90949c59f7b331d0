"""Muon for matrices (a step of momentum made orthogonal by Newton-Schulz), Adam for embeddings and norms."""

import torch

from model import is_matrix

# The number of matrices stacked in one weight.
STACKED = {"qkv": 3, "out": 1, "gate_up": 2, "down": 1}


def orthogonal(stack, steps=5):
    """The nearest orthogonal matrices to a stack of them, roughly: Newton-Schulz with the coefficients of Muon's authors."""
    a, b, c = 3.4445, -4.7750, 2.0315
    x = stack.to(torch.bfloat16)
    tall = x.shape[1] > x.shape[2]
    if tall:
        x = x.transpose(1, 2)
    x = (x / (x.float().flatten(1).norm(dim=1)[:, None, None] + 1e-7).to(x.dtype)).contiguous()
    for _ in range(steps):
        square = torch.bmm(x, x.transpose(1, 2))
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=b, alpha=c), x, beta=a)
    return (x.transpose(1, 2) if tall else x).float()


class Optimiser:
    """Steps over weights in place; `state` is what going on later needs."""

    def __init__(self, weights, muon_rate=0.005, adam_rate=0.001, decay=0.01):
        self.weights, self.muon_rate, self.adam_rate, self.decay = weights, muon_rate, adam_rate, decay
        self.groups = {}
        for name, weight in weights.items():
            if not is_matrix(name):
                continue
            rows = weight.shape[0] // STACKED[name.split(".")[0]]
            for part in range(0, weight.shape[0], rows):
                self.groups.setdefault((rows, weight.shape[1]), []).append((name, part, part + rows))
        plain = [name for name in weights if not is_matrix(name)]
        self.state = {
            "steps": 0,
            "momentum": {shape: torch.zeros(len(parts), *shape) for shape, parts in self.groups.items()},
            "first": {name: torch.zeros_like(weights[name]) for name in plain},
            "second": {name: torch.zeros_like(weights[name]) for name in plain},
        }

    def step(self, gradients, share, workers):
        """Takes a step with this share of the full rates; the matrices of one shape are one piece of work."""
        self.state["steps"] += 1
        pieces = [workers.submit(self._muon, shape, parts, gradients, share) for shape, parts in self.groups.items()]
        for piece in [*pieces, workers.submit(self._adam, gradients, share)]:
            piece.result()

    def _adam(self, gradients, share):
        state = self.state
        for name, first in state["first"].items():
            gradient, second = gradients[name], state["second"][name]
            first.mul_(0.9).add_(gradient, alpha=0.1)
            second.mul_(0.98).addcmul_(gradient, gradient, value=0.02)
            size = (second / (1 - 0.98 ** state["steps"])).sqrt_().add_(1e-8)
            self.weights[name].addcdiv_(first / (1 - 0.9 ** state["steps"]), size, value=-self.adam_rate * share)

    def _muon(self, shape, parts, gradients, share):
        keep = min(0.95, 0.85 + self.state["steps"] / 3000)
        momentum = self.state["momentum"][shape]
        gradient = torch.stack([gradients[name][a:b] for name, a, b in parts]).float()
        momentum.mul_(keep).add_(gradient, alpha=1 - keep)
        update = orthogonal(gradient.mul_(1 - keep).add_(momentum, alpha=keep))
        rate = self.muon_rate * share
        for (name, a, b), change in zip(parts, update):
            weight = self.weights[name][a:b]
            weight.mul_(1 - rate * self.decay).add_(change, alpha=-rate * max(1, shape[0] / shape[1]) ** 0.5)
