"""Writes the weights of a run as the tensors of a GGUF file, one file each, for export.mjs to put together.

    python3 tensors.py --run DIR --corpus DIR --out DIR [--type F16|Q8_0] [--beside DIR ... --share 0.2]

With --beside the weights are a mean with those of other runs, each with this share (model averaging): for runs that continued
from one checkpoint the mean generalises better than the best of them.
"""

import argparse
import json
import os

import numpy as np

from checkpoint import latest_checkpoint
from model import Vocabulary, embeddings_of


def interleaved(rows, heads):
    """Rows of queries or keys in the order in which llama.cpp turns them: pairs side by side, not half a head apart."""
    return rows.reshape(heads, 2, rows.shape[0] // heads // 2, rows.shape[1]).swapaxes(1, 2).reshape(rows.shape)


def tensors(weights, shape, vocabulary):
    """Names as in a GGUF file of the `llama` architecture, and float32 arrays."""
    yield "token_embd.weight", embeddings_of(weights, vocabulary).numpy()
    for layer in range(shape["layers"]):
        block = f"blk.{layer}."
        q, k, v = weights[f"qkv.{layer}"].chunk(3)
        gate, up = weights[f"gate_up.{layer}"].chunk(2)
        yield block + "attn_norm.weight", weights[f"attention_norm.{layer}"].numpy()
        yield block + "attn_q.weight", interleaved(q.numpy(), shape["heads"])
        yield block + "attn_k.weight", interleaved(k.numpy(), shape["heads"])
        yield block + "attn_v.weight", v.numpy()
        yield block + "attn_output.weight", weights[f"out.{layer}"].numpy()
        yield block + "ffn_norm.weight", weights[f"hidden_norm.{layer}"].numpy()
        yield block + "ffn_gate.weight", gate.numpy()
        yield block + "ffn_up.weight", up.numpy()
        yield block + "ffn_down.weight", weights[f"down.{layer}"].numpy()
    yield "output_norm.weight", weights["norm"].numpy()


def stored(array, kind):
    """An array as ggml stores it: norms in 32 bits, matrices in 16, or in blocks of 32 with a scale and 8 bits each."""
    if array.ndim == 1:
        return array.astype("<f4").tobytes()
    if kind == "F16":
        return array.astype("<f2").tobytes()
    blocks = array.astype(np.float32).reshape(-1, 32)
    scale = np.abs(blocks).max(1) / 127
    numbers = np.rint(blocks / np.where(scale > 0, scale, 1)[:, None]).clip(-127, 127).astype(np.int8)
    return np.concatenate([scale.astype("<f2").view(np.uint8).reshape(-1, 2), numbers.view(np.uint8)], 1).tobytes()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", required=True)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--type", choices=["F16", "Q8_0"], default="F16")
    parser.add_argument("--beside", nargs="+", default=[])
    parser.add_argument("--share", type=float, default=0.2)
    given = parser.parse_args()
    kept = latest_checkpoint(given.run)
    others = [latest_checkpoint(run)["weights"] for run in given.beside]
    for name, weight in kept["weights"].items():
        own = (1 - given.share * len(others)) * weight
        kept["weights"][name] = own + given.share * sum(other[name] for other in others)
    with open(f"{given.corpus}/vocabulary.json") as file:
        vocabulary = Vocabulary(json.load(file)["ties"])
    os.makedirs(given.out, exist_ok=True)
    for name, array in tensors(kept["weights"], kept["shape"], vocabulary):
        with open(f"{given.out}/{name}", "wb") as file:
            file.write(stored(np.ascontiguousarray(array), given.type))
    with open(f"{given.out}/shape.json", "w") as file:
        json.dump({**kept["shape"], "type": given.type, "seen": kept["seen"]}, file)


if __name__ == "__main__":
    main()
