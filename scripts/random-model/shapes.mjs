// Shapes of random models by name, and their chat template.
/** @import { RandomShape } from './write.mjs' */

/**
 * The shape of a real model of 135 million parameters.
 * @type {RandomShape}
 */
const mid = {
  words: 49_152,
  layers: 30,
  width: 576,
  hidden: 1536,
  heads: 9,
  kvHeads: 3,
  contextLength: 8192,
  weights: 'Q8_0',
};

/**
 * For tests: loads and generates in milliseconds.
 * @type {RandomShape}
 */
const tiny = {
  words: 2048,
  layers: 2,
  width: 64,
  hidden: 128,
  heads: 4,
  kvHeads: 2,
  contextLength: 2048,
  weights: 'Q8_0',
};

/** As mid, but two of three layers have short convolutions: a cache that cannot be cut back. */
const hybrid = { ...mid, kernel: 3 };

/** As mid, but every second layer has a sliding window. */
const window = { ...mid, window: 512 };

export const shapes = { mid, tiny, hybrid, window };

export const chatTemplate =
  "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}" +
  "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";
