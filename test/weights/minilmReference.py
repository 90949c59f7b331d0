"""Prints the vectors of test/fixtures/minilmVectors.json as sentence-transformers computes them, in PyTorch.

    python3 test/weights/minilmReference.py FOLDER > test/fixtures/minilmVectors.json

FOLDER has config.json, tokenizer.json and model.safetensors: `node scripts/weights.mjs minilm` prints where it is.
Needs torch and transformers.
"""

import json
import sys

import torch
from transformers import AutoModel, AutoTokenizer

WORDS = "The lamp in the harbour tower has been dark since the storm, and nobody climbs the stairs any more. "
TEXTS = [
    "Where is the blacksmith?", "The quick brown fox jumps over the lazy dog.", " Tabs\tand\n\nnew  lines ", ".", "NAÏVE Café – 42,5 °C; e-mail: ada@example.org",
    "Где находится кузница?", "鍛冶屋はどこですか。", "대장장이는 어디에 있나요?", "أين الحداد؟", "Wo ist der Straßenschmied? 🙂🚀", WORDS * 30,
]
