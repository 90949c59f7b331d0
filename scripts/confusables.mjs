// Prints the table of look-alikes in src/base/foldText.ts: letters of other scripts that Unicode takes for one of ASCII.
//
//   node scripts/confusables.mjs FILE     FILE: confusables.txt of Unicode's UTS #39 (version 17.0.0 was used)
import { readFileSync } from 'node:fs';

const scripts = ['Latin', 'Greek', 'Cyrillic', 'Armenian', 'Coptic', 'Cherokee', 'Lisu', 'Georgian', 'Tifinagh'];
const isOther = new RegExp(`^(?![\\0-\\x7f])[${scripts.map((name) => `\\p{Script=${name}}`).join('')}]$`, 'u');
const character = (/** @type {string} */ code) => String.fromCodePoint(parseInt(code, 16));

/** @type {Map<string, string>} */
const alike = new Map();
for (const [, from = '', to = ''] of readFileSync(process.argv[2] ?? '', 'utf8').matchAll(
  /^([0-9A-F]{4}) ;\t(00[0-9A-F]{2}) ;\tMA/gm,
)) {
  const [other, ascii] = [character(from), character(to)];
  if (!isOther.test(other) || !/\w/.test(ascii) || other.normalize('NFKC') !== other) continue;
  // Unicode has one class for I and l. Patterns ignore case: a capital is a look-alike of the capital.
  const letter = ascii === 'l' && /\p{Lu}/u.test(other) ? 'I' : ascii;
  alike.set(letter, (alike.get(letter) ?? '') + other);
}
console.log(
  [...alike]
    .sort()
    .map((entry) => entry.join(''))
    .join(' '),
);
