// Bits per weight of whole models as llama.cpp quantizes them; some tensors have more bits than the name says.
const bitsPerWeight = new Map(
  `F32 32, F16 16, BF16 16, Q8_0 8.5, Q6_K 6.56, Q5_K_M 5.7, Q5_K_S 5.5, Q5_0 5.5, Q4_K_M 4.85, Q4_K_S 4.6,
  MXFP4 4.63, Q4_0 4.55, IQ4_XS 4.3, IQ4_NL 4.5, Q3_K_L 4.3, Q3_K_M 3.9, Q3_K_S 3.5, Q2_K 3.2`
    .split(/,\s+/)
    .map((row) => row.split(' '))
    .map(([name, bits]) => [name, Number(bits)] as const),
);

/**
 * Estimates the size of a model in bytes from names such as `qwen2.5-3b-instruct-q4_k_m.gguf`; undefined where none has
 * the number of parameters, or none the quantization.
 */
export function estimateSize(names: readonly string[]): number | undefined {
  const isKnown = (value: number | undefined): boolean => value !== undefined;
  const parameters = names.map(parseParameters).find(isKnown);
  const bits = names.map(parseBits).find(isKnown);
  return parameters === undefined || bits === undefined ? undefined : (parameters * bits) / 8;
}

/** The number of parameters in a name: 3B, 0.5B, 360M. */
function parseParameters(name: string): number | undefined {
  const [, count, unit] = /(?<![a-z0-9.])(\d+(?:\.\d+)?)([bm])(?![a-z0-9])/i.exec(name) ?? [];
  if (count === undefined || unit === undefined) return undefined;
  return Number(count) * (unit.toLowerCase() === 'b' ? 1e9 : 1e6);
}

function parseBits(name: string): number | undefined {
  const [quantization] = /(?<![a-z0-9])(?:i?q\d_[a-z0-9]+(?:_[sml])?|b?f16|f32|mxfp4)(?![a-z0-9])/i.exec(name) ?? [];
  return quantization === undefined ? undefined : bitsPerWeight.get(quantization.toUpperCase());
}
