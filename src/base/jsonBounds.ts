const maxDepth = 500;

/** Max values of a JSON text from a client: each takes far more time and memory than its characters. */
export const maxClientValues = 32_768;

/**
 * Why a JSON text is too large to be parsed, as the end of a sentence; undefined: it is not. It need not be valid, and is
 * read once: JSON.parse makes an object for each level.
 */
export function findJsonExcess(text: string, maxValues = Infinity): string | undefined {
  let [depth, values] = [0, 0];
  for (let at = 0; at < text.length; at++) {
    const character = text[at] ?? '';
    if (character === '"') at = endOfString(text, at);
    else if (character === ']' || character === '}') depth--;
    else if (character === '[' || character === '{' || character === ',') {
      values++;
      if (character !== ',' && ++depth > maxDepth) return `is nested too deeply: ${maxDepth} levels are allowed`;
      if (values > maxValues) return `has more than ${maxValues} values; send less`;
    }
  }
  return undefined;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (; at < text.length && text[at] !== '"'; at++) if (text[at] === '\\') at++;
  return at;
}
