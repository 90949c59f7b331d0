/* Attention of one unit of a packed batch (see batches.py) on a processor with AMX tiles: heads of 64, bfloat16 products.
   Rows a..b of the unit see `shared` keys that begin at `start`, and of their own those from low[r] to shared + r.
   q, k, v: [heads][rows][64], q scaled; mixed: [rows][heads][64]; row_log: [heads][rows], log of the sum of exponentials. */
#include <math.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "tiles.h"

/* Whether the system lets this process use tiles; asked once before the first call. */
int tiles_allowed(void) { return syscall(SYS_arch_prctl, 0x1023, 18) == 0; }

typedef struct {
  long start, shared, a, b, seen, rows_padded, keys_padded;
  const int64_t *low;
} unit;

static unit unit_of(const int64_t *shape, const int64_t *low) {
  unit u = {shape[0], shape[1], shape[2], shape[3], 0, 0, 0, low};
  u.seen = u.shared + u.b - u.a;
  u.rows_padded = up(u.b - u.a);
  u.keys_padded = up(u.seen);
  return u;
}

/* The rows a unit sees, one under the other, zeros behind them. */
static void gather(const unit *u, const half *all, half *out) {
  memcpy(out, all + u->start * D, u->shared * D * sizeof(half));
  memcpy(out + u->shared * D, all + u->a * D, (u->b - u->a) * D * sizeof(half));
  memset(out + u->seen * D, 0, (u->keys_padded - u->seen) * D * sizeof(half));
}

/* Keys that the rows up to r + 32 of a unit can see. */
static long seen_until(const unit *u, long r) {
  long rows = u->b - u->a;
  return up(u->shared + (r + STEP < rows ? r + STEP : rows));
}

/* A line of scores to exponentials below `most`: of what row r sees, zeros elsewhere; gives their sum. */
static float exponentials(const unit *u, long r, long keys, float *line, float most) {
  long low = u->low[r], end = u->shared + r + 1;
  float sum = 0;
  for (long j = 0; j < u->shared; j++) sum += line[j] = expf(line[j] - most);
  for (long j = u->shared; j < low; j++) line[j] = 0;
  for (long j = low; j < end; j++) sum += line[j] = expf(line[j] - most);
  for (long j = end; j < keys; j++) line[j] = 0;
  return sum;
}

void attend_unit(const int64_t *shape, const int64_t *low, long heads, long all_rows, const half *q, const half *k,
                 const half *v, half *mixed, float *row_log) {
  unit u = unit_of(shape, low);
  long rows = u.b - u.a, keys = u.keys_padded;
  half *seen = room(keys * D * 2), *keys_across = room(keys * D * 2), *values_along = room(keys * D * 2);
  half *asked = room(STEP * D * 2), *shares = room(STEP * keys * 2);
  float *scores = room(STEP * keys * 4), *out = room(STEP * D * 4);
  tiles_begin();
  for (long h = 0; h < heads; h++) {
    gather(&u, k + h * all_rows * D, seen);
    pack_across(keys, seen, keys_across);
    gather(&u, v + h * all_rows * D, seen);
    pack_along(keys, seen, values_along);
    for (long r = 0; r < rows; r += STEP) {
      long here = rows - r < STEP ? rows - r : STEP, width = seen_until(&u, r);
      memset(asked, 0, STEP * D * 2);
      memcpy(asked, q + (h * all_rows + u.a + r) * D, here * D * 2);
      times_across(asked, keys_across, width, scores);
      memset(shares, 0, STEP * width * 2);
      for (long i = 0; i < here; i++) {
        float *line = scores + i * width, most = -1e30f;
        for (long j = 0; j < u.shared; j++) most = line[j] > most ? line[j] : most;
        for (long j = u.low[r + i]; j <= u.shared + r + i; j++) most = line[j] > most ? line[j] : most;
        float sum = exponentials(&u, r + i, width, line, most), share = 1.0f / sum;
        row_log[h * all_rows + u.a + r + i] = most + logf(sum);
        for (long j = 0; j < width; j++) shares[i * width + j] = narrow(line[j] * share);
      }
      times_along(shares, width, values_along, width, out);
      for (long i = 0; i < here; i++)
        for (long d = 0; d < D; d++) mixed[((u.a + r + i) * heads + h) * D + d] = narrow(out[i * D + d]);
    }
  }
  _tile_release();
  free(seen); free(keys_across); free(values_along); free(asked); free(shares); free(scores); free(out);
}

/* Two lines of numbers as one of pairs, the way the right-hand side of a product wants them. */
static void pair(const float *one, const float *other, long n, uint32_t *out) {
  for (long j = 0; j < n; j++) out[j] = narrow(one[j]) | (uint32_t)narrow(other[j]) << 16;
}

/* gradient of keys or values: total[key] += sum over rows of left[row] * paired[row][key]; left_turned: [64][rows]. */
static void add_turned(const unit *u, const half *left_turned, const uint32_t *paired, float *total) {
  long depth = u->rows_padded, width = u->keys_padded;
  float block[D * STEP] __attribute__((aligned(64)));
  for (long j = 0; j < u->seen; j += STEP) {
    long first = j > u->shared ? (j - u->shared) / STEP * STEP : 0;
    for (long d = 0; d < D; d += STEP) {
      _tile_zero(0); _tile_zero(1); _tile_zero(2); _tile_zero(3);
      for (long r = first; r < depth; r += STEP) {
        _tile_loadd(4, left_turned + d * depth + r, depth * 2);
        _tile_loadd(5, left_turned + (d + TILE) * depth + r, depth * 2);
        _tile_loadd(6, paired + r / 2 * width + j, width * 4);
        _tile_loadd(7, paired + r / 2 * width + j + TILE, width * 4);
        _tile_dpbf16ps(0, 4, 6); _tile_dpbf16ps(1, 4, 7); _tile_dpbf16ps(2, 5, 6); _tile_dpbf16ps(3, 5, 7);
      }
      _tile_stored(0, block + d * STEP, STEP * 4);
      _tile_stored(1, block + d * STEP + TILE, STEP * 4);
      _tile_stored(2, block + (d + TILE) * STEP, STEP * 4);
      _tile_stored(3, block + (d + TILE) * STEP + TILE, STEP * 4);
    }
    for (long n = 0; n < STEP && j + n < u->seen; n++) {
      long row = j + n < u->shared ? u->start + j + n : u->a + j + n - u->shared;
      for (long d = 0; d < D; d++) total[row * D + d] += block[d * STEP + n];
    }
  }
}

static void turn(const half *x, long rows, half *out) {
  for (long r = 0; r < rows; r++)
    for (long d = 0; d < D; d++) out[d * rows + r] = x[r * D + d];
}

void attend_unit_back(const int64_t *shape, const int64_t *low, long heads, long all_rows, const half *q, const half *k,
                      const half *v, const half *mixed, const half *d_mixed, const float *row_log, float *dq, float *dk,
                      float *dv) {
  unit u = unit_of(shape, low);
  long rows = u.b - u.a, keys = u.keys_padded, padded = u.rows_padded;
  half *seen = room(keys * D * 2), *keys_across = room(keys * D * 2), *keys_along = room(keys * D * 2);
  half *values_across = room(keys * D * 2), *asked = room(padded * D * 2), *given = room(padded * D * 2);
  half *asked_turned = room(padded * D * 2), *given_turned = room(padded * D * 2), *change = room(STEP * keys * 2);
  uint32_t *shares_paired = room(padded / 2 * keys * 4), *changes_paired = room(padded / 2 * keys * 4);
  float *scores = room(STEP * keys * 4), *d_shares = room(STEP * keys * 4), *out = room(STEP * D * 4);
  tiles_begin();
  for (long h = 0; h < heads; h++) {
    gather(&u, k + h * all_rows * D, seen);
    pack_across(keys, seen, keys_across);
    pack_along(keys, seen, keys_along);
    gather(&u, v + h * all_rows * D, seen);
    pack_across(keys, seen, values_across);
    memset(asked + rows * D, 0, (padded - rows) * D * 2);
    memset(given + rows * D, 0, (padded - rows) * D * 2);
    memcpy(asked, q + (h * all_rows + u.a) * D, rows * D * 2);
    for (long r = 0; r < rows; r++) memcpy(given + r * D, d_mixed + ((u.a + r) * heads + h) * D, D * 2);
    turn(asked, padded, asked_turned);
    turn(given, padded, given_turned);
    for (long r = 0; r < rows; r += STEP) {
      long here = rows - r < STEP ? rows - r : STEP, width = seen_until(&u, r);
      times_across(asked + r * D, keys_across, width, scores);
      times_across(given + r * D, values_across, width, d_shares);
      for (long i = 0; i < STEP; i++) {
        float *line = scores + i * width, *d = d_shares + i * width;
        if (i >= here) {
          memset(line, 0, width * 4);
          memset(d, 0, width * 4);
          continue;
        }
        const half *o = mixed + ((u.a + r + i) * heads + h) * D, *g = given + (r + i) * D;
        float dot = 0;
        for (long n = 0; n < D; n++) dot += wide(o[n]) * wide(g[n]);
        exponentials(&u, r + i, width, line, row_log[h * all_rows + u.a + r + i]);
        for (long j = 0; j < width; j++) d[j] = line[j] * (d[j] - dot);
      }
      for (long i = 0; i < STEP; i++)
        for (long j = 0; j < width; j++) change[i * width + j] = narrow(d_shares[i * width + j]);
      for (long i = 0; i < STEP; i += 2) {
        uint32_t *p = shares_paired + (r + i) / 2 * keys, *c = changes_paired + (r + i) / 2 * keys;
        pair(scores + i * width, scores + (i + 1) * width, width, p);
        pair(d_shares + i * width, d_shares + (i + 1) * width, width, c);
        memset(p + width, 0, (keys - width) * 4);
        memset(c + width, 0, (keys - width) * 4);
      }
      times_along(change, width, keys_along, width, out);
      memcpy(dq + (h * all_rows + u.a + r) * D, out, here * D * 4);
    }
    add_turned(&u, given_turned, shares_paired, dv + h * all_rows * D);
    add_turned(&u, asked_turned, changes_paired, dk + h * all_rows * D);
  }
  _tile_release();
  free(seen); free(keys_across); free(keys_along); free(values_across); free(asked); free(given); free(asked_turned);
  free(given_turned); free(change); free(shares_paired); free(changes_paired); free(scores); free(d_shares); free(out);
}
