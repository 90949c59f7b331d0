const maxDepth = 500;

/** Max values of a JSON text from a client: each takes far more time and memory than its characters. */
export const maxClientValues = 32_768;

/** What a JSON text has too much of, as the end of a sentence. */
export const jsonExcesses = {
  levels: `is nested too deeply: ${maxDepth} levels are allowed`,
  values: `has more than ${maxClientValues} values; send less`,
} as const;

/** What is too much in a JSON text, which need not be valid. It is read once: JSON.parse makes an object for each level. */
export function findJsonExcess(text: string, maxValues = Infinity): keyof typeof jsonExcesses | undefined {
  let [depth, values] = [0, 0];
  for (let at = 0; at < text.length; at++) {
    const character = text[at] ?? '';
    if (character === '"') at = endOfString(text, at);
    else if (character === ']' || character === '}') depth--;
    else if (character === '[' || character === '{' || character === ',') {
      if (character !== ',' && ++depth > maxDepth) return 'levels';
      if (++values > maxValues) return 'values';
    }
  }
  return undefined;
}

/** The index of the quote that closes the string of a JSON text that begins at an index, or the end of the text. */
export function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (; at < text.length && text[at] !== '"'; at++) if (text[at] === '\\') at++;
  return at;
}
