const escaped = /\\(?:([0-7]{1,3})|x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|(\n)|([abfnrtv\\'"]))/g;

const simple: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/** What a string of a template stands for, by its source between the quotes. As in Python, an unknown escape stays. */
export const unescapeString = (source: string): string =>
  source.replace(
    escaped,
    (match, octal?: string, x?: string, u?: string, long?: string, newline?: string, char = '') => {
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8));
      const hex = x ?? u ?? long;
      if (hex !== undefined) {
        const code = Number.parseInt(hex, 16);
        return code > 0x10_ff_ff ? match : String.fromCodePoint(code);
      }
      return newline === undefined ? (simple[char] ?? char) : '';
    },
  );
