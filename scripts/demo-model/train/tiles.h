/* Products of bfloat16 matrices with the AMX tiles of the processor, and memory for them. Widths are D. */
#ifndef TILES_H
#define TILES_H
#include <immintrin.h>
#include <stdlib.h>
#include <string.h>
#include "numbers.h"

enum { D = 64, STEP = 32, TILE = 16 };

static void tiles_begin(void) {
  struct { uint8_t palette, row, rest[14]; uint16_t bytes[16]; uint8_t rows[16]; } c;
  memset(&c, 0, sizeof c);
  c.palette = 1;
  for (int i = 0; i < 8; i++) c.bytes[i] = 64, c.rows[i] = 16;
  _tile_loadconfig(&c);
}

static long up(long n) { return (n + STEP - 1) / STEP * STEP; }

static void *room(long bytes) { return aligned_alloc(64, (bytes + 63) / 64 * 64); }

/* Right-hand sides of products. `across`: to multiply with the transpose of x; `along`: with x itself. */
static void pack_across(long rows, const half *x, half *out) {
  const uint32_t *in = (const uint32_t *)x;
  uint32_t *o = (uint32_t *)out;
  for (long r = 0; r < rows; r += TILE)
    for (long part = 0; part < 2; part++, o += TILE * TILE)
      for (long n = 0; n < TILE; n++)
        for (long i = 0; i < TILE; i++) o[i * TILE + n] = in[(r + n) * (D / 2) + part * TILE + i];
}

static void pack_along(long rows, const half *x, half *out) {
  uint32_t *o = (uint32_t *)out;
  for (long r = 0; r < rows; r += 2)
    for (long d = 0; d < D; d++) o[r / 2 * D + d] = x[r * D + d] | (uint32_t)x[(r + 1) * D + d] << 16;
}

/* out[32][columns] = left[32][64] * right, packed across; columns a multiple of 32. */
static void times_across(const half *left, const half *right, long columns, float *out) {
  for (long n = 0; n < columns; n += STEP, right += STEP * D) {
    _tile_zero(0); _tile_zero(1); _tile_zero(2); _tile_zero(3);
    for (long part = 0; part < 2; part++) {
      _tile_loadd(4, left + part * 32, D * 2);
      _tile_loadd(5, left + TILE * D + part * 32, D * 2);
      _tile_loadd(6, right + part * TILE * 32, 64);
      _tile_loadd(7, right + TILE * D + part * TILE * 32, 64);
      _tile_dpbf16ps(0, 4, 6); _tile_dpbf16ps(1, 4, 7); _tile_dpbf16ps(2, 5, 6); _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, out + n, columns * 4);
    _tile_stored(1, out + n + TILE, columns * 4);
    _tile_stored(2, out + TILE * columns + n, columns * 4);
    _tile_stored(3, out + TILE * columns + n + TILE, columns * 4);
  }
}

/* out[32][64] = left[32][depth] * right[depth][64], packed along; rows of left are `stride` apart. */
static void times_along(const half *left, long stride, const half *right, long depth, float *out) {
  for (long d = 0; d < D; d += STEP) {
    _tile_zero(0); _tile_zero(1); _tile_zero(2); _tile_zero(3);
    for (long j = 0; j < depth; j += STEP) {
      _tile_loadd(4, left + j, stride * 2);
      _tile_loadd(5, left + TILE * stride + j, stride * 2);
      _tile_loadd(6, right + j * D + d * 2, D * 4);
      _tile_loadd(7, right + j * D + (d + TILE) * 2, D * 4);
      _tile_dpbf16ps(0, 4, 6); _tile_dpbf16ps(1, 4, 7); _tile_dpbf16ps(2, 5, 6); _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, out + d, D * 4);
    _tile_stored(1, out + d + TILE, D * 4);
    _tile_stored(2, out + TILE * D + d, D * 4);
    _tile_stored(3, out + TILE * D + d + TILE, D * 4);
  }
}

#endif
