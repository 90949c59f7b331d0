"""Reads a GGUF file of the demo model back into a checkpoint, so that a training can begin with it (train.py --begin).

    python3 read_gguf.py --file FILE --corpus DIR --out DIR      (writes weights.pt; tensors in F32 or F16)
"""

import argparse
import json
import os
import struct

import numpy as np
import torch

SIZES = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, LIST = 8, 9
KINDS = {0: "<f4", 1: "<f2"}
ALIGNMENT = 32


class Header:
    """The metadata of a GGUF file, and what is known of its tensors."""

    def __init__(self, data):
        self.data, self.at = data, 4
        version, tensors, pairs = self._take("I"), self._take("Q"), self._take("Q")
        if data[:4] != b"GGUF" or version != 3:
            raise SystemExit("the file is no GGUF file of version 3")
        self.values = {self._string(): self._value(self._take("I")) for _ in range(pairs)}
        self.tensors = [self._tensor() for _ in range(tensors)]
        self.start = -(-self.at // ALIGNMENT) * ALIGNMENT

    def _take(self, code):
        (value,) = struct.unpack_from("<" + code, self.data, self.at)
        self.at += struct.calcsize("<" + code)
        return value

    def _string(self):
        length = self._take("Q")
        self.at += length
        return self.data[self.at - length : self.at].decode()

    def _value(self, kind):
        if kind == STRING:
            return self._string()
        if kind != LIST:
            return self._take(SIZES[kind])
        item, count = self._take("I"), self._take("Q")
        return [self._value(item) for _ in range(count)]

    def _tensor(self):
        name = self._string()
        sizes = [self._take("Q") for _ in range(self._take("I"))]
        return name, sizes[::-1], self._take("I"), self._take("Q")

    def arrays(self):
        """The tensors by name, as PyTorch's in 32 bits."""
        for name, sizes, kind, offset in self.tensors:
            if kind not in KINDS:
                raise SystemExit(f"{name} is neither F32 nor F16")
            array = np.frombuffer(self.data, KINDS[kind], int(np.prod(sizes)), self.start + offset)
            yield name, torch.from_numpy(array.astype(np.float32).reshape(sizes))


def halved(rows, heads):
    """Rows of queries or keys in the order of the training: pairs half a head apart (see interleaved in tensors.py)."""
    return rows.reshape(heads, rows.shape[0] // heads // 2, 2, rows.shape[1]).transpose(1, 2).reshape(rows.shape)


def separated(table, ties):
    """Embeddings of the bare words, and the mean shifts of a space before them and of a capital (see model.py)."""
    ties = torch.tensor(ties)
    word, marks = ties[:, 0], ties[:, 1:].float()
    tied = word != torch.arange(len(ties))
    shifts = torch.linalg.lstsq(marks[tied], table[tied] - table[word[tied]]).solution
    return {"words": torch.where(tied[:, None], torch.zeros(()), table), "marks": shifts}


def weights_of(tensors, shape, ties):
    """The weights as train.py keeps them."""
    weights = {**separated(tensors["token_embd.weight"], ties), "norm": tensors["output_norm.weight"]}
    for layer in range(shape["layers"]):
        block = f"blk.{layer}."

        def stacked(*names):
            return torch.cat([tensors[f"{block}{name}.weight"] for name in names])

        q, k = (halved(stacked(name), shape["heads"]) for name in ("attn_q", "attn_k"))
        weights[f"attention_norm.{layer}"] = stacked("attn_norm")
        weights[f"hidden_norm.{layer}"] = stacked("ffn_norm")
        weights[f"qkv.{layer}"] = torch.cat([q, k, stacked("attn_v")])
        weights[f"out.{layer}"] = stacked("attn_output")
        weights[f"gate_up.{layer}"] = stacked("ffn_gate", "ffn_up")
        weights[f"down.{layer}"] = stacked("ffn_down")
    return weights


def main():
    parser = argparse.ArgumentParser()
    for name in ("file", "corpus", "out"):
        parser.add_argument(f"--{name}", required=True)
    given = parser.parse_args()
    with open(given.file, "rb") as file:
        header = Header(file.read())
    keys = {"width": "embedding_length", "layers": "block_count", "heads": "attention.head_count", "hidden": "feed_forward_length"}
    shape = {name: header.values[f"llama.{key}"] for name, key in keys.items()}
    with open(f"{given.corpus}/vocabulary.json") as file:
        weights = weights_of(dict(header.arrays()), shape, json.load(file)["ties"])
    os.makedirs(given.out, exist_ok=True)
    torch.save({"weights": weights, "shape": shape, "seen": 0}, f"{given.out}/weights.pt")


if __name__ == "__main__":
    main()
