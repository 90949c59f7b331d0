"""The network: `llama` architecture, residual stream in 32 bits, products in bfloat16, embeddings tied by their word."""

import math

import torch
import torch.nn.functional as F

import ops

SHAPE = {"width": 256, "layers": 6, "heads": 4, "hidden": 512}
CONTEXT = 2048


def rotations(size, base=10000.0):
    """Cosines and sines of the rotary positions, [position][half a head]."""
    turn = 1.0 / base ** (torch.arange(0, size, 2).double() / size)
    angle = torch.arange(CONTEXT).double()[:, None] * turn
    return angle.cos().float().contiguous(), angle.sin().float().contiguous()


class Vocabulary:
    """Which token is another one with a space before it or a capital: such tokens have that one's embedding, shifted."""

    def __init__(self, ties, device="cpu"):
        ties = torch.tensor(ties, device=device)
        self.size = len(ties)
        self.word = ties[:, 0]
        self.marks = ties[:, 1:].float()


class Model:
    """Weights in 32 bits (`weights`), and copies of them to compute with; several may share weights."""

    def __init__(self, weights, shape, vocabulary, fused=True):
        self.weights, self.shape, self.vocabulary, self.fused = weights, shape, vocabulary, fused
        self.tables = rotations(shape["width"] // shape["heads"])
        self.working = {
            name: (weight.to(torch.bfloat16) if is_matrix(name) else weight).detach().requires_grad_()
            for name, weight in weights.items()
        }
        self.packed = {name: ops.Packed(copy.data) for name, copy in self.working.items() if fused and is_matrix(name)}

    def refresh(self):
        """Takes over the weights after a step of the optimiser."""
        for name, weight in self.weights.items():
            copy = self.working[name]
            copy.grad = None
            if is_matrix(name):
                copy.data.copy_(weight)
        for packed in self.packed.values():
            packed.refresh()

    def _times(self, x, name):
        return ops.linear(x, self.working[name], self.packed.get(name))

    def loss(self, batch, scale):
        """The scaled sum of the losses over what a batch teaches, and the likeliest token at each of these places."""
        w, fused, layers = self.working, self.fused, self.shape["layers"]
        table = embeddings_of(w, self.vocabulary)
        x, h = ops.add_norm(table[batch.ids], None, w["attention_norm.0"], fused)
        for layer in range(layers):
            mixed = ops.attention(self._times(h, f"qkv.{layer}"), batch, self.tables, self.shape["heads"], fused)
            if layer + 1 == layers:
                # From here on no row looks at another one.
                x, mixed = x[batch.learning], mixed[batch.learning]
            x, h = ops.add_norm(x, self._times(mixed, f"out.{layer}"), w[f"hidden_norm.{layer}"], fused)
            let = ops.swiglu(self._times(h, f"gate_up.{layer}"), fused)
            norm = f"attention_norm.{layer + 1}" if layer + 1 < layers else "norm"
            x, h = ops.add_norm(x, self._times(let, f"down.{layer}"), w[norm], fused)
        logits = F.linear(h, table.to(torch.bfloat16))
        return ops.entropy(logits, batch.target, scale, fused)


def embeddings_of(weights, vocabulary):
    """What every token is embedded as, and compared with at the end."""
    return weights["words"][vocabulary.word] + vocabulary.marks @ weights["marks"]


def is_matrix(name):
    return name.split(".")[0] in ("qkv", "out", "gate_up", "down")


def fresh(shape, vocabulary, seed, circuits=True):
    """New weights. With `circuits` the network begins with heads that look back and heads that copy."""
    draw = torch.Generator().manual_seed(seed)
    width, hidden = shape["width"], shape["hidden"]

    def normal(rows, columns, spread):
        return torch.randn(rows, columns, generator=draw) * spread

    weights = {"words": normal(vocabulary.size, width, width**-0.5), "marks": torch.zeros(2, width), "norm": torch.ones(width)}
    for layer in range(shape["layers"]):
        weights[f"attention_norm.{layer}"] = torch.ones(width)
        weights[f"hidden_norm.{layer}"] = torch.ones(width)
        weights[f"qkv.{layer}"] = normal(3 * width, width, width**-0.5)
        weights[f"out.{layer}"] = torch.zeros(width, width)
        weights[f"gate_up.{layer}"] = normal(2 * hidden, width, width**-0.5)
        weights[f"down.{layer}"] = torch.zeros(width, hidden)
    size = width // shape["heads"]
    if circuits and size >= 16 and width > 3 * (size + 1):
        _lay_circuits(weights, shape, draw)
    return weights


def _lay_circuits(weights, shape, draw):
    """Layer 0: two heads that bring each place the token before it, and the one before that. Layers 2 and 3, where there are
    any: heads that find where the same tokens stood and bring what followed. They work before anything is learnt; training
    takes them on."""
    width, heads = shape["width"], shape["heads"]
    size = width // heads
    half = size // 2
    turn = 1.0 / 10000.0 ** (torch.arange(0, size, 2).float() / size)
    basis = torch.linalg.qr(torch.randn(width, width, generator=draw))[0].t()
    always, space, capital = basis[0], basis[1], basis[2]
    identity, before = basis[3 : 3 + size], [basis[3 + size : 3 + 2 * size], basis[3 + 2 * size : 3 + 3 * size]]
    words = weights["words"]
    for direction in (always, space, capital):
        words -= (words @ direction)[:, None] * direction
    words += 0.5 * always
    weights["marks"] = torch.stack([0.3 * space, 0.3 * capital])

    def head(layer, number):
        rows = slice(number * size, (number + 1) * size)
        q, k, v = weights[f"qkv.{layer}"].chunk(3)
        return q[rows], k[rows], v[rows], weights[f"out.{layer}"][:, rows]

    for number, back in ((0, 1), (1, 2)):
        q, k, v, out = head(0, number)
        q *= 0.05
        k *= 0.05
        # The quickest turning parts of a head see one distance only.
        for i in range(8):
            q[i] += 0.85 * always
            k[i] += 0.85 * always * math.cos(turn[i] * back)
            k[i + half] += 0.85 * always * math.sin(turn[i] * back)
        v.copy_(identity)
        out.copy_(0.2 * before[back - 1].t())

    # The slowest turning parts hardly see a distance: there tokens are compared.
    slow = [i for i in range(half) if turn[i] < 0.0035]
    rows = slow + [i + half for i in slow]
    for layer, number, first, past in ((2, 0, 0, 0), (2, 1, len(rows), 0), (3, 0, size - len(rows), 0), (3, 1, 0, 1)):
        if layer >= shape["layers"]:
            continue
        q, k, v, out = head(layer, number)
        q *= 0.05
        k *= 0.05
        for at, row in enumerate(rows):
            q[row] += 2.6 * identity[first + at]
            k[row] += 2.6 * before[past][first + at]
        v.copy_(torch.linalg.qr(torch.randn(width, size, generator=draw))[0].t())
        out.copy_(0.3 * v.t())
