/** One reference token of a JSON pointer (RFC 6901), escaped, with its leading slash. */
export const escapePointerToken = (name: string | number): string =>
  `/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`;

/** The reference tokens of a JSON pointer, unescaped; [] = the whole document. */
export const pointerTokens = (pointer: string): readonly string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));

/** The value at the reference tokens of a JSON pointer; undefined: there is none. */
export function valueAt(root: unknown, tokens: readonly string[]): unknown {
  let target = root;
  for (const token of tokens) {
    if (typeof target !== 'object' || target === null || !Object.hasOwn(target, token)) return undefined;
    target = (target as Readonly<Record<string, unknown>>)[token];
  }
  return target;
}

/** A JSON pointer in the notation of messages: `.nodes.answer` or `[2].user`; "" = the whole document. */
export const describePointer = (pointer: string): string =>
  pointerTokens(pointer)
    .map((name) => (/^\d+$/.test(name) ? `[${name}]` : `.${name}`))
    .join('');

/** The part of a JSON Schema that a reference within it names; undefined: there is none, or it is elsewhere. */
export function referenceTarget(root: unknown, reference: unknown): unknown {
  if (typeof reference !== 'string' || !/^#(?:\/|$)/.test(reference)) return undefined;
  const pointer = decodePercent(reference.slice(1));
  return pointer === undefined ? undefined : valueAt(root, pointerTokens(pointer));
}

/** A part of a URL without percent-encoding; undefined: it cannot be decoded. */
export function decodePercent(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
