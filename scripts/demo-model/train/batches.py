"""Reads the records that corpus.mjs writes, and packs them into batches of a fixed number of tokens."""

import numpy as np
import torch

LEARNT = 0x8000
ROWS = 256  # maximum number of rows of a unit of branches


class Unit:
    """Rows that attend together: the shared tokens of a document, or some of its branches after them."""

    def __init__(self, start, shared, rows, low):
        self.start, self.shared, self.rows, self.low = start, shared, rows, low
        self.numbers = torch.tensor([start, shared, *rows])

    def seen(self, keys):
        """Of keys or values [heads, rows, size], those that the unit can see: the shared ones, then its own."""
        a, b = self.rows
        own = keys[:, a:b]
        return own.contiguous() if self.shared == 0 else torch.cat([keys[:, self.start : self.start + self.shared], own], 1)

    def visible(self, device):
        """Which row sees which key, as booleans [rows, keys]."""
        a, b = self.rows
        key = torch.arange(self.shared + b - a, device=device)
        row = torch.arange(b - a, device=device)[:, None]
        return (key < self.shared) | ((key >= self.low.to(device)[:, None]) & (key <= self.shared + row))


class Batch:
    """`ids` and `position` of all rows, `units` of attention, and which rows learn which `target`."""

    def __init__(self, documents, size):
        ids, position = np.zeros(size, np.int64), np.zeros(size, np.int64)
        self.units, learning, target, self.owners = [], [], [], []
        at = 0
        for number, (tokens, shared, lengths) in enumerate(documents):
            clean = (tokens & (LEARNT - 1)).astype(np.int64)
            ids[at : at + len(tokens)] = clean
            position[at : at + shared] = np.arange(shared)
            self.units.append(Unit(at, 0, (at, at + shared), torch.zeros(shared, dtype=torch.int64)))
            self._branches(position, at, shared, lengths)
            # A row predicts the next token; the first token of a branch is never learnt.
            due = np.nonzero(tokens & LEARNT)[0]
            learning.append(at + due - 1)
            target.append(clean[due])
            self.owners.append((number, at + due, np.cumsum([at + shared, *lengths])))
            at += len(tokens)
        self.used = at
        self.ids, self.position = torch.from_numpy(ids), torch.from_numpy(position)
        self.learning, self.target = (torch.from_numpy(np.concatenate(part)) for part in (learning, target))

    def _branches(self, position, at, shared, lengths):
        first, row, low = at + shared, at + shared, []
        for length in lengths:
            if low and row + length - first > ROWS:
                self.units.append(Unit(at, shared, (first, row), torch.tensor(low)))
                first, low = row, []
            position[row : row + length] = shared + np.arange(length)
            low += [shared + row - first] * length
            row += length
        self.units.append(Unit(at, shared, (first, row), torch.tensor(low)))

    def to(self, device):
        for name in ("ids", "position", "learning", "target"):
            setattr(self, name, getattr(self, name).to(device))
        return self


class Records:
    """The records of a file, in order, packed into batches; `state` is all that going on later needs. The file may
    still be growing, as long as it grows faster than it is read."""

    POOL = 48

    def __init__(self, file, state=(0, ())):
        self.file, self.data = file, np.memmap(file, np.uint16, "r")
        self.next, self.waiting = state[0], list(state[1])

    @property
    def state(self):
        return self.next, tuple(self.waiting)

    def _has(self, at):
        """Whether a complete record is in the file; the file may still grow."""
        for _ in range(2):
            if at + 3 < len(self.data) and at + 3 + int(self.data[at + 2]) + int(self.data[at]) <= len(self.data):
                return True
            self.data = np.memmap(self.file, np.uint16, "r")
        return False

    def _read(self, at):
        total, shared, branches = (int(number) for number in self.data[at : at + 3])
        lengths = [int(length) for length in self.data[at + 3 : at + 3 + branches]]
        begin = at + 3 + branches
        return (np.asarray(self.data[begin : begin + total]), shared, lengths), begin + total

    def batch(self, size):
        """The next batch, or None at the end of the file. What does not fit any more waits for a later one."""
        while len(self.waiting) < self.POOL and self._has(self.next):
            self.waiting.append(self.next)
            self.next = self._read(self.next)[1]
        chosen, left = [], size
        for at in list(self.waiting):
            length = int(self.data[at])
            if length <= left:
                chosen.append(self._read(at)[0])
                self.waiting.remove(at)
                left -= length
            if left < 100:
                break
        return Batch(chosen, size) if chosen else None
