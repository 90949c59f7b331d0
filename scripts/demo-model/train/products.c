/* Products with the matrices of the network on AMX tiles, in bfloat16. Widths are multiples of 32, rows are any number. */
#include "tiles.h"

enum { PAIRS = TILE * TILE, CHUNK = 512 };

/* Turns 16 x 16 pairs over. */
static inline void turn_pairs(__m512i *r) {
  __m512i t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
  for (int g = 0; g < 16; g += 4) {
    r[g] = _mm512_unpacklo_epi64(t[g], t[g + 2]);
    r[g + 1] = _mm512_unpackhi_epi64(t[g], t[g + 2]);
    r[g + 2] = _mm512_unpacklo_epi64(t[g + 1], t[g + 3]);
    r[g + 3] = _mm512_unpackhi_epi64(t[g + 1], t[g + 3]);
  }
  for (int c = 0; c < 4; c++) {
    __m512i even = _mm512_shuffle_i32x4(r[c], r[4 + c], 0x88), odd = _mm512_shuffle_i32x4(r[c], r[4 + c], 0xdd);
    __m512i even2 = _mm512_shuffle_i32x4(r[8 + c], r[12 + c], 0x88), odd2 = _mm512_shuffle_i32x4(r[8 + c], r[12 + c], 0xdd);
    t[c] = _mm512_shuffle_i32x4(even, even2, 0x88);
    t[8 + c] = _mm512_shuffle_i32x4(even, even2, 0xdd);
    t[4 + c] = _mm512_shuffle_i32x4(odd, odd2, 0x88);
    t[12 + c] = _mm512_shuffle_i32x4(odd, odd2, 0xdd);
  }
  memcpy(r, t, sizeof t);
}

/* 32 rows of 16 columns as 16 rows of pairs, one of two rows each; rows from `here` on are zeros. */
static inline void pair_rows(const half *x, long width, long here, __m512i *r) {
  for (long i = 0; i < 16; i++) {
    __m256i none = _mm256_setzero_si256();
    __m256i one = 2 * i < here ? _mm256_loadu_si256((const void *)(x + 2 * i * width)) : none;
    __m256i other = 2 * i + 1 < here ? _mm256_loadu_si256((const void *)(x + (2 * i + 1) * width)) : none;
    r[i] = _mm512_or_si512(_mm512_cvtepu16_epi32(one), _mm512_slli_epi32(_mm512_cvtepu16_epi32(other), 16));
  }
}

/* A matrix [outs][ins] as the right-hand side of products: `forth` to come from ins to outs, `back` to come from outs to ins. */
void pack_matrix(long outs, long ins, const half *matrix, half *forth, half *back) {
  __m512i r[16];
  for (long c = 0; c < outs; c += STEP)
    for (long k = 0; k < ins; k += STEP)
      for (long tile = 0; tile < STEP; tile += TILE, forth += 2 * PAIRS) {
        for (long n = 0; n < TILE; n++) r[n] = _mm512_loadu_si512(matrix + (c + tile + n) * ins + k);
        turn_pairs(r);
        memcpy(forth, r, sizeof r);
      }
  for (long c = 0; c < ins; c += STEP)
    for (long k = 0; k < outs; k += STEP)
      for (long tile = 0; tile < STEP; tile += TILE, back += 2 * PAIRS) {
        pair_rows(matrix + k * ins + c + tile, ins, STEP, r);
        memcpy(back, r, sizeof r);
      }
}

/* out[rows][columns] = left[rows][depth] * right, as pack_matrix laid it out. */
void product(long rows, long depth, long columns, const half *left, const half *right, half *out) {
  half *tail = room(STEP * depth * 2);
  float block[STEP * STEP] __attribute__((aligned(64)));
  tiles_begin();
  for (long r = 0; r < rows; r += STEP) {
    long here = rows - r < STEP ? rows - r : STEP;
    const half *a = left + r * depth, *b = right;
    if (here < STEP) {
      memset(tail, 0, STEP * depth * 2);
      a = memcpy(tail, a, here * depth * 2);
    }
    for (long c = 0; c < columns; c += STEP) {
      _tile_zero(0); _tile_zero(1); _tile_zero(2); _tile_zero(3);
      for (long k = 0; k < depth; k += STEP, b += 4 * PAIRS) {
        _tile_loadd(4, a + k, depth * 2);
        _tile_loadd(5, a + TILE * depth + k, depth * 2);
        _tile_loadd(6, b, 64);
        _tile_loadd(7, b + 2 * PAIRS, 64);
        _tile_dpbf16ps(0, 4, 6); _tile_dpbf16ps(1, 4, 7); _tile_dpbf16ps(2, 5, 6); _tile_dpbf16ps(3, 5, 7);
      }
      _tile_stored(0, block, STEP * 4);
      _tile_stored(1, block + TILE, STEP * 4);
      _tile_stored(2, block + TILE * STEP, STEP * 4);
      _tile_stored(3, block + TILE * STEP + TILE, STEP * 4);
      for (long i = 0; i < here; i++) {
        __m512 low = _mm512_load_ps(block + i * STEP), high = _mm512_load_ps(block + i * STEP + TILE);
        _mm512_storeu_si512(out + (r + i) * columns + c, (__m512i)_mm512_cvtne2ps_pbh(high, low));
      }
    }
  }
  _tile_release();
  free(tail);
}

/* out[outs][ins] = the transpose of left[rows][outs] * right[rows][ins]: what a matrix is to change by. */
void product_of_rows(long rows, long outs, long ins, const half *left, const half *right, half *out) {
  half *turned = room(CHUNK * outs * 2), *paired = room(CHUNK * ins * 2);
  float *sum = room(outs * ins * 4);
  __m512i t[16];
  memset(sum, 0, outs * ins * 4);
  tiles_begin();
  for (long r = 0; r < rows; r += CHUNK) {
    long here = rows - r < CHUNK ? rows - r : CHUNK, depth = up(here);
    for (long k = 0; k < depth; k += STEP) {
      for (long c = 0; c < outs; c += TILE) {
        pair_rows(left + (r + k) * outs + c, outs, here - k, t);
        turn_pairs(t);
        memcpy(turned + c * depth + k * TILE, t, sizeof t);
      }
      for (long c = 0; c < ins; c += TILE) {
        pair_rows(right + (r + k) * ins + c, ins, here - k, t);
        memcpy(paired + c * depth + k * TILE, t, sizeof t);
      }
    }
    float *to = sum;
    for (long o = 0; o < outs; o += STEP)
      for (long i = 0; i < ins; i += STEP, to += STEP * STEP) {
        const half *a = turned + o * depth, *b = paired + i * depth;
        _tile_loadd(0, to, 64);
        _tile_loadd(1, to + PAIRS, 64);
        _tile_loadd(2, to + 2 * PAIRS, 64);
        _tile_loadd(3, to + 3 * PAIRS, 64);
        for (long k = 0; k < depth * TILE; k += 2 * PAIRS) {
          _tile_loadd(4, a + k, 64);
          _tile_loadd(5, a + depth * TILE + k, 64);
          _tile_loadd(6, b + k, 64);
          _tile_loadd(7, b + depth * TILE + k, 64);
          _tile_dpbf16ps(0, 4, 6); _tile_dpbf16ps(1, 4, 7); _tile_dpbf16ps(2, 5, 6); _tile_dpbf16ps(3, 5, 7);
        }
        _tile_stored(0, to, 64);
        _tile_stored(1, to + PAIRS, 64);
        _tile_stored(2, to + 2 * PAIRS, 64);
        _tile_stored(3, to + 3 * PAIRS, 64);
      }
  }
  _tile_release();
  const float *from = sum;
  for (long o = 0; o < outs; o += STEP)
    for (long i = 0; i < ins; i += STEP)
      for (long tile = 0; tile < 4; tile++)
        for (long n = 0; n < TILE; n++, from += TILE) {
          half *to = out + (o + tile / 2 * TILE + n) * ins + i + tile % 2 * TILE;
          for (long m = 0; m < TILE; m++) to[m] = narrow(from[m]);
        }
  free(turned); free(paired); free(sum);
}
