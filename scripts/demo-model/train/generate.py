"""Generates with the weights of a run, greedily and in 32 bits, to compare with llama.cpp on the exported file.

    python3 generate.py --run DIR --corpus DIR < prompts.jsonl      (each line a list of token ids, and so is each answer)
"""

import argparse
import json
import sys

import torch
import torch.nn.functional as F

from checkpoint import latest_checkpoint
from model import Vocabulary, embeddings_of, rotations

END = 2


class Reader:
    """Evaluates tokens with a KV cache."""

    def __init__(self, weights, shape, vocabulary):
        self.weights, self.shape = weights, shape
        self.table = embeddings_of(weights, vocabulary)
        self.tables = rotations(shape["width"] // shape["heads"])
        self.cache = [None] * shape["layers"]
        self.length = 0

    def _norm(self, x, name):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * self.weights[name]

    def _rotated(self, x, positions):
        cosines, sines = (table[positions][:, None] for table in self.tables)
        left, right = x.chunk(2, -1)
        return torch.cat([left * cosines - right * sines, right * cosines + left * sines], -1)

    def next(self, tokens):
        """Appends tokens; returns the likeliest next one."""
        w, heads = self.weights, self.shape["heads"]
        positions = torch.arange(self.length, self.length + len(tokens))
        self.length += len(tokens)
        x = self.table[torch.tensor(tokens)]
        for layer in range(self.shape["layers"]):
            q, k, v = F.linear(self._norm(x, f"attention_norm.{layer}"), w[f"qkv.{layer}"]).chunk(3, -1)
            q, k, v = (part.view(len(tokens), heads, -1) for part in (q, k, v))
            q, k = self._rotated(q, positions), self._rotated(k, positions)
            if self.cache[layer] is not None:
                k, v = torch.cat([self.cache[layer][0], k]), torch.cat([self.cache[layer][1], v])
            self.cache[layer] = k, v
            scores = torch.einsum("ihd,jhd->hij", q, k) * q.shape[-1] ** -0.5
            later = torch.arange(self.length) > positions[:, None]
            shares = scores.masked_fill(later, float("-inf")).softmax(-1)
            x = x + F.linear(torch.einsum("hij,jhd->ihd", shares, v).flatten(1), w[f"out.{layer}"])
            gate, up = F.linear(self._norm(x, f"hidden_norm.{layer}"), w[f"gate_up.{layer}"]).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * up, w[f"down.{layer}"])
        return int(F.linear(self._norm(x[-1], "norm"), self.table).argmax())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", required=True)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--longest", type=int, default=60)
    options = parser.parse_args()
    checkpoint = latest_checkpoint(options.run)
    with open(f"{options.corpus}/vocabulary.json") as file:
        vocabulary = Vocabulary(json.load(file)["ties"])
    with torch.no_grad():
        for line in sys.stdin:
            reader, answer = Reader(checkpoint["weights"], checkpoint["shape"], vocabulary), []
            token = reader.next(json.loads(line))
            while token != END and len(answer) < options.longest:
                answer.append(token)
                token = reader.next([token])
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
