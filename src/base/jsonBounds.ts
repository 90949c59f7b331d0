const maxDepth = 500;

/** The end of a sentence about a JSON text that nests too deeply. */
export const tooDeep = `is nested too deeply: ${maxDepth} levels are allowed`;

/** Whether a JSON text nests too deeply. It need not be valid, and is read once: JSON.parse makes an object for each level. */
export function isTooDeep(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === quote) at = endOfString(text, at);
    else if (unit === openBracket || unit === openBrace) depth++;
    else if (unit === openBracket + 2 || unit === openBrace + 2) depth--;
    if (depth > maxDepth) return true;
  }
  return false;
}

const [quote, backslash, openBracket, openBrace] = [0x22, 0x5c, 0x5b, 0x7b];

function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (; at < text.length && text.charCodeAt(at) !== quote; at++) if (text.charCodeAt(at) === backslash) at++;
  return at;
}
