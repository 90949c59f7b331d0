"""Prints test/fixtures/minilmVectors.json: texts, and their vectors as sentence-transformers defines them, computed in PyTorch.

python3 test/weights/minilmVectors.py "$(node scripts/weights.mjs minilm | cut -d ' ' -f 2)"/*/model >test/fixtures/minilmVectors.json

Needs torch and transformers. A text counts as far as its first 256 tokens: that is max_seq_length of the model.
"""

import json
import sys

import torch
from transformers import AutoModel, AutoTokenizer

texts = ["Where is the blacksmith?", ".", " Tabs\tand\n\nnew  lines ", "NAÏVE Café – 42,5 °C; e-mail: ada@example.org"]
texts += ["Где находится кузница?", "鍛冶屋はどこですか。", "대장장이는 어디에 있나요?", "أين الحداد؟", "Straße nach Łódź 🙂🚀"]
texts += ["The lamp in the harbour tower has been dark since the storm. " * 40]

folder = sys.argv[1]
tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
vectors = []
for text in texts:
    tokens = tokenizer(text.strip(), truncation=True, max_length=256, return_tensors="pt")
    with torch.inference_mode():
        mean = model(**tokens).last_hidden_state[0].mean(0)
    vectors.append([round(number, 5) for number in (mean / mean.norm()).tolist()])
print(json.dumps([{"text": text, "vector": vector} for text, vector in zip(texts, vectors)], ensure_ascii=False))
