/* What a step spends its time on beside matrix products, each in one pass over memory. Numbers of 16 bits are bfloat16. */
#include <math.h>
#include <string.h>
#include "numbers.h"

/* sum = x + delta; h = sum / rms(sum) * weight; rs keeps 1 / rms of each row. delta may be null. */
void add_norm(long rows, long width, const float *x, const half *delta, const float *weight, float *sum, half *h, float *rs) {
  for (long i = 0; i < rows; i++) {
    const float *a = x + i * width;
    const half *b = delta ? delta + i * width : 0;
    float *s = sum + i * width;
    half *o = h + i * width;
    float squares = 0;
    if (b) for (long j = 0; j < width; j++) s[j] = a[j] + wide(b[j]);
    else memcpy(s, a, width * sizeof(float));
    for (long j = 0; j < width; j++) squares += s[j] * s[j];
    float r = 1.0f / sqrtf(squares / width + 1e-5f);
    rs[i] = r;
    for (long j = 0; j < width; j++) o[j] = narrow(s[j] * r * weight[j]);
  }
}

/* dx = dsum + the gradient that comes through the norm; ddelta is dx in 16 bits; dweight is added to. dsum may be null. */
void add_norm_back(long rows, long width, const float *dsum, const half *dh, const float *sum, const float *weight,
                   const float *rs, float *dx, half *ddelta, float *dweight) {
  for (long i = 0; i < rows; i++) {
    const half *g = dh + i * width;
    const float *s = sum + i * width, *d = dsum ? dsum + i * width : 0;
    float *o = dx + i * width, r = rs[i], dot = 0;
    half *p = ddelta + i * width;
    for (long j = 0; j < width; j++) {
      float t = wide(g[j]) * s[j] * r;
      dweight[j] += t;
      dot += t * weight[j];
    }
    dot = dot / width * r;
    for (long j = 0; j < width; j++) {
      float v = (d ? d[j] : 0) + r * wide(g[j]) * weight[j] - s[j] * r * dot;
      o[j] = v;
      p[j] = narrow(v);
    }
  }
}

/* out = silu(gate) * up, where a row of both holds the gate and then what it lets through. */
void swiglu(long rows, long width, const half *both, half *out) {
  for (long i = 0; i < rows; i++) {
    const half *gate = both + i * 2 * width, *up = gate + width;
    half *o = out + i * width;
    for (long j = 0; j < width; j++) {
      float a = wide(gate[j]);
      o[j] = narrow(a / (1.0f + expf(-a)) * wide(up[j]));
    }
  }
}

void swiglu_back(long rows, long width, const half *both, const half *dout, half *dboth) {
  for (long i = 0; i < rows; i++) {
    const half *gate = both + i * 2 * width, *up = gate + width, *d = dout + i * width;
    half *dgate = dboth + i * 2 * width, *dup = dgate + width;
    for (long j = 0; j < width; j++) {
      float a = wide(gate[j]), s = 1.0f / (1.0f + expf(-a)), e = wide(d[j]);
      dup[j] = narrow(e * a * s);
      dgate[j] = narrow(e * wide(up[j]) * s * (1.0f + a * (1.0f - s)));
    }
  }
}

/* qkv [rows][3][heads][size] to q, k, v [heads][rows][size], q and k turned by their position; q scaled. */
void rotate(long rows, long heads, long size, const half *qkv, half *q, half *k, half *v, const float *cosines,
            const float *sines, const int64_t *position, float scale) {
  long part = size / 2, width = heads * size;
  for (long t = 0; t < rows; t++) {
    const float *c = cosines + position[t] * part, *s = sines + position[t] * part;
    for (long h = 0; h < heads; h++) {
      const half *a = qkv + t * 3 * width + h * size;
      long at = (h * rows + t) * size;
      for (long i = 0; i < part; i++) {
        float x = wide(a[i]), y = wide(a[i + part]);
        q[at + i] = narrow((x * c[i] - y * s[i]) * scale);
        q[at + i + part] = narrow((y * c[i] + x * s[i]) * scale);
      }
      a += width;
      for (long i = 0; i < part; i++) {
        float x = wide(a[i]), y = wide(a[i + part]);
        k[at + i] = narrow(x * c[i] - y * s[i]);
        k[at + i + part] = narrow(y * c[i] + x * s[i]);
      }
      memcpy(v + at, a + width, size * sizeof(half));
    }
  }
}

void rotate_back(long rows, long heads, long size, half *dqkv, const float *dq, const float *dk, const float *dv,
                 const float *cosines, const float *sines, const int64_t *position, float scale) {
  long part = size / 2, width = heads * size;
  for (long t = 0; t < rows; t++) {
    const float *c = cosines + position[t] * part, *s = sines + position[t] * part;
    for (long h = 0; h < heads; h++) {
      half *a = dqkv + t * 3 * width + h * size;
      long at = (h * rows + t) * size;
      for (long i = 0; i < part; i++) {
        float x = dq[at + i] * scale, y = dq[at + i + part] * scale;
        a[i] = narrow(x * c[i] + y * s[i]);
        a[i + part] = narrow(y * c[i] - x * s[i]);
      }
      a += width;
      for (long i = 0; i < part; i++) {
        float x = dk[at + i], y = dk[at + i + part];
        a[i] = narrow(x * c[i] + y * s[i]);
        a[i + part] = narrow(y * c[i] - x * s[i]);
      }
      a += width;
      for (long i = 0; i < size; i++) a[i] = narrow(dv[at + i]);
    }
  }
}

/* Loss of each row and the likeliest word; logits in place to their gradient. */
void entropy(long rows, long words, half *logits, const int64_t *target, float *loss, int64_t *likeliest, float scale) {
  for (long i = 0; i < rows; i++) {
    half *l = logits + i * words;
    float most = -1e30f, sum = 0;
    long best = 0;
    for (long j = 0; j < words; j++) most = wide(l[j]) > most ? wide(l[j]) : most;
    while (wide(l[best]) < most) best++;
    for (long j = 0; j < words; j++) sum += expf(wide(l[j]) - most);
    float due = wide(l[target[i]]) - most;
    loss[i] = logf(sum) - due;
    likeliest[i] = best;
    for (long j = 0; j < words; j++) l[j] = narrow(expf(wide(l[j]) - most) / sum * scale);
    l[target[i]] = narrow((expf(due) / sum - 1.0f) * scale);
  }
}
