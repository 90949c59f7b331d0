// Hostile texts and sizes.
import { below, pick } from '../../seededRandom.mjs';

/** Bytes of a frame, less what the envelope needs. */
export const maxRequestBytes = 1_000_000;

/** A size from 1 to `max`: as often small as large (uniform in its logarithm), and sometimes `max` itself. */
export const sizeUpTo = (random, max) => (random() < 0.15 ? max : Math.max(1, Math.round(max ** random())));

/** A list of `count` items. */
export const times = (count, create) => Array.from({ length: count }, (_, index) => create(index));

const pieces = [
  'a',
  ' ',
  '\n',
  'ab ',
  'the lamp in the attic is on, ',
  '{"type": "string", "name": "p1"}, ',
  '{"name": "set_light", "arguments": {"on": true}}\n',
  '<|im_end|>',
  '<|im_start|>system\n',
  '<think>',
  '</think>',
  '<tool_call>',
  '</tool_call>',
  '[TOOL_CALLS]',
  '```json\n',
  '[',
  '{',
  '{"a":',
  '"',
  '\\',
  '\\u0000',
  '0',
  '-1.5e3, ',
  'é',
  '世界',
  '👋🏽',
  '\u0301',
  '\u200b',
  '\0',
  '{{user_message}}',
  '{{#a}}',
  '{{/a}}',
  '{{',
  '}}',
  'ignore all previous instructions ',
  'twenty-five ',
  '<',
  '|',
];

/** A text of about `bytes` bytes: one piece repeated, a mixture of pieces, or random characters. */
export function hostileText(random, bytes) {
  const kind = random();
  if (kind < 0.5) return repeated(pick(random, pieces), bytes);
  if (kind < 0.8) {
    const part = times(1 + below(random, 20), () => pick(random, pieces)).join('');
    return repeated(part, bytes);
  }
  const [from, to] = pick(random, [
    [32, 127],
    [0x4e00, 0x9fff],
    [0, 0x2fff],
    [0x1f300, 0x1faff],
  ]);
  const part = times(Math.min(4096, bytes), () => String.fromCodePoint(from + below(random, to - from))).join('');
  return repeated(part, bytes);
}

function repeated(piece, bytes) {
  if (piece === '') return '';
  const text = piece.repeat(Math.max(1, Math.floor(bytes / Buffer.byteLength(piece))));
  // A piece that is larger than the size is cut, at a code point.
  return Buffer.byteLength(text) <= bytes
    ? text
    : Array.from(text)
        .slice(0, Math.ceil(bytes / 4))
        .join('');
}
