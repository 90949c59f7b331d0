"""The steps of the network between matrix products: C where the processor has AMX, else PyTorch's own functions."""

import ctypes
import os
import subprocess
import tempfile

import torch
import torch.nn.functional as F
from torch.autograd import Function

HERE = os.path.dirname(os.path.abspath(__file__))


def _compiled():
    folder = tempfile.mkdtemp(prefix="demo-model-")
    library = os.path.join(folder, "kernels.so")
    flags = "-O3 -march=native -ffast-math -mprefer-vector-width=512 -shared -fPIC".split()
    sources = [os.path.join(HERE, name) for name in ("kernels.c", "attention.c", "products.c")]
    subprocess.run(["gcc", *flags, *sources, "-o", library, "-lm"], check=True)
    return ctypes.CDLL(library)


def kernels_fit(shape):
    """Whether the C functions are written for a network of this shape: for heads of 64 and widths of whole tiles."""
    return shape["width"] == 64 * shape["heads"] and shape["hidden"] % 32 == 0


def kernels_work():
    """Whether this processor has AMX tiles and may use them; the C functions are written for it."""
    try:
        with open("/proc/cpuinfo") as info:
            return "amx_bf16" in info.read() and bool(_loaded().tiles_allowed())
    except (OSError, subprocess.CalledProcessError):
        return False


_library = None


def _loaded():
    global _library
    if _library is None:
        _library = _compiled()
    return _library


def _call(name, *arguments):
    """Calls a kernel: whole numbers as long, fractions as float, tensors by their memory."""
    given = []
    for one in arguments:
        if one is None:
            given.append(ctypes.c_void_p(None))
        elif isinstance(one, torch.Tensor):
            assert one.is_contiguous(), name
            given.append(ctypes.c_void_p(one.data_ptr()))
        else:
            given.append(ctypes.c_float(one) if isinstance(one, float) else ctypes.c_long(one))
    getattr(_loaded(), name)(*given)


class Packed:
    """A matrix [outs, ins] as the C products read it, from ins to outs and back; `refresh` after it has changed."""

    def __init__(self, weight):
        self.weight = weight
        self.forth, self.back = (torch.empty(weight.numel(), dtype=weight.dtype) for _ in range(2))
        self.refresh()

    def refresh(self):
        _call("pack_matrix", *self.weight.shape, self.weight, self.forth, self.back)


class _Linear(Function):
    @staticmethod
    def forward(ctx, x, weight, packed):
        out = torch.empty(len(x), len(weight), dtype=x.dtype)
        _call("product", *x.shape, len(weight), x, packed.forth, out)
        ctx.save_for_backward(x)
        ctx.packed = packed
        return out

    @staticmethod
    def backward(ctx, d_out):
        (x,), d_out = ctx.saved_tensors, d_out.contiguous()
        (rows, ins), outs = x.shape, d_out.shape[1]
        dx, d_weight = torch.empty_like(x), torch.empty(outs, ins, dtype=x.dtype)
        _call("product", rows, outs, ins, d_out, ctx.packed.back, dx)
        _call("product_of_rows", rows, outs, ins, d_out, x, d_weight)
        return dx, d_weight, None


def linear(x, weight, packed):
    """x times the transpose of a matrix; `packed` is that matrix for the C kernels, or None."""
    return F.linear(x, weight) if packed is None else _Linear.apply(x, weight, packed)


class _AddNorm(Function):
    @staticmethod
    def forward(ctx, x, delta, weight):
        rows, width = x.shape
        total = torch.empty_like(x)
        normed = torch.empty(rows, width, dtype=torch.bfloat16)
        scale = torch.empty(rows)
        _call("add_norm", rows, width, x, delta, weight, total, normed, scale)
        ctx.save_for_backward(total, weight, scale)
        ctx.has_delta = delta is not None
        ctx.set_materialize_grads(False)
        return total, normed

    @staticmethod
    def backward(ctx, d_total, d_normed):
        total, weight, scale = ctx.saved_tensors
        rows, width = total.shape
        dx, d_weight = torch.empty_like(total), torch.zeros_like(weight)
        d_delta = torch.empty(rows, width, dtype=torch.bfloat16)
        _call("add_norm_back", rows, width, d_total, d_normed.contiguous(), total, weight, scale, dx, d_delta, d_weight)
        return dx, d_delta if ctx.has_delta else None, d_weight


def add_norm(x, delta, weight, fused):
    """The sum of the stream and what a layer adds to it, and its normed form for the next layer."""
    if fused:
        return _AddNorm.apply(x, delta, weight)
    total = x if delta is None else x + delta.float()
    normed = total * torch.rsqrt(total.square().mean(-1, keepdim=True) + 1e-5) * weight
    return total, normed.to(torch.bfloat16)


class _Swiglu(Function):
    @staticmethod
    def forward(ctx, both):
        rows, width = both.shape
        out = torch.empty(rows, width // 2, dtype=both.dtype)
        _call("swiglu", rows, width // 2, both, out)
        ctx.save_for_backward(both)
        return out

    @staticmethod
    def backward(ctx, d_out):
        (both,) = ctx.saved_tensors
        d_both = torch.empty_like(both)
        _call("swiglu_back", both.shape[0], both.shape[1] // 2, both, d_out.contiguous(), d_both)
        return d_both


def swiglu(both, fused):
    if fused:
        return _Swiglu.apply(both)
    gate, up = both.chunk(2, -1)
    return F.silu(gate) * up


class _Attention(Function):
    """Attention of a packed batch; see batches.py for its units."""

    @staticmethod
    def forward(ctx, qkv, batch, tables, heads):
        rows, size = qkv.shape[0], qkv.shape[1] // 3 // heads
        q, k, v = (torch.empty(heads, rows, size, dtype=qkv.dtype) for _ in range(3))
        _call("rotate", rows, heads, size, qkv, q, k, v, *tables, batch.position, size**-0.5)
        mixed = torch.zeros(rows, heads * size, dtype=qkv.dtype)
        row_log = torch.empty(heads, rows)
        for unit in batch.units:
            _call("attend_unit", unit.numbers, unit.low, heads, rows, q, k, v, mixed, row_log)
        ctx.save_for_backward(q, k, v, mixed, row_log)
        ctx.batch, ctx.tables = batch, tables
        return mixed

    @staticmethod
    def backward(ctx, d_mixed):
        q, k, v, mixed, row_log = ctx.saved_tensors
        heads, rows, size = q.shape
        d_mixed = d_mixed.contiguous()
        dq, dk, dv = (torch.zeros(heads, rows, size) for _ in range(3))
        for unit in ctx.batch.units:
            given = (unit.numbers, unit.low, heads, rows, q, k, v, mixed, d_mixed, row_log)
            _call("attend_unit_back", *given, dq, dk, dv)
        d_qkv = torch.empty(rows, 3 * heads * size, dtype=q.dtype)
        _call("rotate_back", rows, heads, size, d_qkv, dq, dk, dv, *ctx.tables, ctx.batch.position, size**-0.5)
        return d_qkv, None, None, None


def attention(qkv, batch, tables, heads, fused):
    if fused:
        return _Attention.apply(qkv, batch, tables, heads)
    rows, size = qkv.shape[0], qkv.shape[1] // 3 // heads
    q, k, v = qkv.view(rows, 3, heads, size).permute(1, 2, 0, 3)
    cosines, sines = (table.to(qkv.device)[batch.position] for table in tables)

    def turned(x):
        left, right = x.float().chunk(2, -1)
        return torch.cat([left * cosines - right * sines, right * cosines + left * sines], -1)

    q, k = (turned(q) * size**-0.5).to(qkv.dtype), turned(k).to(qkv.dtype)
    mixed = []
    for unit in batch.units:
        a, b = unit.rows
        scores = torch.bmm(q[:, a:b], unit.seen(k).transpose(1, 2)).float()
        shares = scores.masked_fill(~unit.visible(scores.device), float("-inf")).softmax(-1).to(qkv.dtype)
        mixed.append(torch.bmm(shares, unit.seen(v)).transpose(0, 1))
    filled = torch.cat(mixed).reshape(-1, heads * size)
    return F.pad(filled, (0, 0, 0, rows - filled.shape[0]))


class _Entropy(Function):
    @staticmethod
    def forward(ctx, logits, target, scale):
        rows, words = logits.shape
        loss, likeliest = torch.empty(rows), torch.empty(rows, dtype=torch.int64)
        gradient = logits.detach().clone()
        _call("entropy", rows, words, gradient, target, loss, likeliest, float(scale))
        ctx.save_for_backward(gradient)
        ctx.mark_non_differentiable(likeliest)
        return loss.sum() * scale, likeliest

    @staticmethod
    def backward(ctx, d_loss, _):
        return ctx.saved_tensors[0], None, None


def entropy(logits, target, scale, fused):
    """The scaled sum of the losses, and the likeliest word of each row."""
    if fused:
        return _Entropy.apply(logits, target, scale)
    wide = logits.float()
    return F.cross_entropy(wide, target, reduction="sum") * scale, wide.argmax(-1)
