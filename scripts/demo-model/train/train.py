"""Trains the demo model on a corpus of corpus.mjs. Resumes from the checkpoint of the output folder, if there is one.

    python3 train.py --corpus DIR --out DIR [--tokens N] [--seed N] [--workers N] [--device cuda]

Ctrl-C stops it and writes a checkpoint. `--out` gets checkpoint.pt while it runs, log.jsonl (one line every 50 steps), and weights.pt at the end.
"""

import argparse
import json
import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

# One thread a worker, and no memory given back between steps: both cost a third of the speed.
MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "8589934592", "MALLOC_TOP_PAD_": "268435456"}
THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
if __name__ == "__main__" and "MALLOC_MMAP_MAX_" not in os.environ:
    os.environ.update({**MEMORY, **THREADS})
    os.execv(sys.executable, [sys.executable, *sys.argv])

import torch

from batches import Records
from model import SHAPE, Model, Vocabulary, fresh
from ops import kernels_fit, kernels_work
from optimiser import Optimiser


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--tokens", type=float, default=0, help="what the schedule is for; 0 = the whole corpus")
    parser.add_argument("--batch", type=int, default=4608, help="tokens of a batch; a step has one batch a worker")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--plain", action="store_true", help="PyTorch's own functions on a processor too")
    parser.add_argument("--rate", type=float, default=1, help="share of the rates; less for a run that goes on from another")
    parser.add_argument("--fall", type=float, default=0.4, help="share of the run in which the rates fall to nothing")
    parser.add_argument("--begin", help="weights.pt of an earlier run, to begin with")
    for name, size in SHAPE.items():
        parser.add_argument(f"--{name}", type=int, default=size)
    given = parser.parse_args()
    if given.width % (2 * given.heads) != 0:
        parser.error("--width must be a multiple of twice --heads: a head turns pairs of numbers")
    return given


def schedule(done, fall):
    """The share of the full rates: up within the first hundredth, then down to nothing over the last part (`fall`)."""
    return min(1, done / 0.01 + 0.02, max(0, (1 - done) / fall))


class Training:
    def __init__(self, given):
        self.given = given
        torch.set_num_threads(1)
        with open(f"{given.corpus}/vocabulary.json") as file:
            vocabulary = Vocabulary(json.load(file)["ties"], given.device)
        self.shape = {name: getattr(given, name) for name in SHAPE}
        self.records = Records(f"{given.corpus}/train.bin")
        self.total = given.tokens or len(self.records.data)
        self.seen, self.average = 0, None
        weights = torch.load(given.begin)["weights"] if given.begin else fresh(self.shape, vocabulary, given.seed)
        self.weights = {name: weight.to(given.device) for name, weight in weights.items()}
        self.optimiser = Optimiser(self.weights)
        self._resume()
        fused = given.device == "cpu" and not given.plain and kernels_fit(self.shape) and kernels_work()
        self.models = [Model(self.weights, self.shape, vocabulary, fused) for _ in range(given.workers)]
        self.workers = ThreadPoolExecutor(given.workers)

    @property
    def checkpoint(self):
        return f"{self.given.out}/checkpoint.pt"

    def _resume(self):
        if not os.path.exists(self.checkpoint):
            return
        kept = torch.load(self.checkpoint)
        for name, weight in kept["weights"].items():
            self.weights[name].copy_(weight)
        self.optimiser.state = kept["optimiser"]
        self.seen, self.average = kept["seen"], kept["average"]
        self.records = Records(f"{self.given.corpus}/train.bin", kept["records"])
        print(f"goes on after {self.seen} tokens", flush=True)

    def keep(self):
        kept = {"weights": self.weights, "optimiser": self.optimiser.state, "seen": self.seen}
        kept.update(average=self.average, records=self.records.state, shape=self.shape)
        torch.save(kept, f"{self.checkpoint}.part")
        os.replace(f"{self.checkpoint}.part", self.checkpoint)

    def step(self):
        """One step; False when there is nothing left to learn from."""
        done = self.seen / self.total
        batches = [self.records.batch(self.given.batch) for _ in self.models]
        if done >= 1 or None in batches:
            return False
        places = sum(len(batch.target) for batch in batches)

        def work(model, batch):
            loss, _ = model.loss(batch.to(self.given.device), 1.0 / places)
            loss.backward()
            return loss.item()

        losses = list(self.workers.map(work, self.models, batches))
        gradients = {name: sum(model.working[name].grad.float() for model in self.models) for name in self.weights}
        self.optimiser.step(gradients, self.given.rate * schedule(done, self.given.fall), self.workers)
        list(self.workers.map(Model.refresh, self.models))
        self.seen += sum(batch.used for batch in batches)
        self.average = sum(losses) if self.average is None else 0.98 * self.average + 0.02 * sum(losses)
        return True

    def held_out(self):
        """Loss and share of whole answers right, greedily and word by word, on text of the held-out part."""
        records, model = Records(f"{self.given.corpus}/held.bin"), self.models[0]
        loss = places = right = answers = 0
        with torch.no_grad():
            while (batch := records.batch(self.given.batch)) is not None:
                part, likeliest = model.loss(batch.to(self.given.device), 1.0)
                loss, places = loss + part.item(), places + len(batch.target)
                right_here, answers_here = whole_answers(batch, likeliest == batch.target)
                right, answers = right + right_here, answers + answers_here
        return {"held_loss": round(loss / places, 4), "held_answers": round(right / answers, 4)}


def whole_answers(batch, right):
    """How many branches have every learnt token right, and how many there are."""
    at = right_branches = branches = 0
    for _, due, edges in batch.owners:
        for first, last in zip(edges, edges[1:]):
            mine = (due >= first) & (due < last)
            right_branches += bool(right[at : at + len(due)][torch.from_numpy(mine)].all())
            branches += 1
        at += len(due)
    return right_branches, branches


def main():
    given = options()
    os.makedirs(given.out, exist_ok=True)
    training = Training(given)
    print(f"{sum(weight.numel() for weight in training.weights.values())} weights, {int(training.total)} numbers of text", flush=True)
    began, before, kept, steps = time.time(), training.seen, time.time(), 0
    asked_to_stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: asked_to_stop.set())
    with open(f"{given.out}/log.jsonl", "a") as log:
        while not asked_to_stop.is_set() and training.step():
            steps += 1
            if steps % 50 == 0:
                speed = (training.seen - before) / (time.time() - began)
                line = {"tokens": training.seen, "loss": round(training.average, 4), "tokens_per_second": round(speed)}
                if steps % 500 == 0:
                    line.update(training.held_out())
                print(json.dumps(line), file=log, flush=True)
                print(json.dumps(line), flush=True)
            if time.time() - kept > 120:
                training.keep()
                kept = time.time()
    training.keep()
    if asked_to_stop.is_set():
        print("stopped; the same command goes on", flush=True)
        return
    torch.save({"weights": training.weights, "shape": training.shape, "seen": training.seen}, f"{given.out}/weights.pt")
    print(json.dumps({"tokens": training.seen, **training.held_out()}), flush=True)


if __name__ == "__main__":
    main()
