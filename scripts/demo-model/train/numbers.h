/* Numbers of 16 bits: bfloat16, the upper half of a float. */
#ifndef NUMBERS_H
#define NUMBERS_H
#include <stdint.h>

typedef uint16_t half;

static inline float wide(half h) {
  union { uint32_t bits; float value; } u = {(uint32_t)h << 16};
  return u.value;
}

static inline half narrow(float value) {
  union { float value; uint32_t bits; } u = {value};
  return (half)((u.bits + 0x7fff + ((u.bits >> 16) & 1)) >> 16);
}

#endif
