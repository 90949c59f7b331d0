// GGUF files of LoRA adapters with random weights, in memory.
import { writeHeader } from './header.mjs';
import { padded, real, text } from './values.mjs';
import { createNormalRandom, createWeights } from './weights.mjs';

/** A file is small when its changes are: of rank 4. */
const defaultRank = 4;

/**
 * Creates a LoRA adapter with random weights, as the bytes of a GGUF file.
 * @param {{ readonly architecture: string, readonly tensors: Readonly<Record<string, readonly number[]>>, readonly rank?: number,
 *   readonly spread?: number, readonly seed?: number, readonly type?: 'F32' | 'F16',
 *   readonly metadata?: Readonly<Record<string, Buffer | undefined>>,
 *   readonly shapes?: Readonly<Record<string, readonly number[] | undefined>> }} adapter `tensors`: those of the model that it
 *   changes, with their dimensions in ggml's order; `spread`: standard deviation of its weights. `metadata` and `shapes` take the
 *   place of its own values, and of its own tensors; undefined: without that one.
 * @returns {Buffer}
 */
export function loraGguf({
  architecture,
  tensors,
  rank = defaultRank,
  spread = 0.3,
  seed = 1,
  type = 'F32',
  metadata = {},
  shapes = {},
}) {
  const values = {
    'general.type': text('adapter'),
    'general.architecture': text(architecture),
    'adapter.type': text('lora'),
    'adapter.lora.alpha': real(rank),
    ...metadata,
  };
  const own = Object.entries(tensors).flatMap(([name, [columns, rows]]) => [
    [`${name}.lora_a`, [columns, rank]],
    [`${name}.lora_b`, [rank, rows]],
  ]);
  const all = Object.entries({ ...Object.fromEntries(own), ...shapes }).filter(([, sizes]) => sizes !== undefined);
  const { head, tensors: infos } = writeHeader({
    metadata: Object.entries(values).filter(([, value]) => value !== undefined),
    shapes: all.map(([name, dimensions]) => ({ name, dimensions, type })),
  });
  const draw = createNormalRandom(seed);
  return Buffer.concat([head, ...infos.map(({ count }) => padded(createWeights(type, count, draw, spread)))]);
}
