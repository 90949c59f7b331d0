/** One token of a JSON pointer. */
export const escapePointerToken = (name: string | number): string =>
  `/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`;

/** A JSON pointer as people write the place: `.nodes.answer` or `[2].user`; "" = the whole. */
export const describePointer = (pointer: string): string =>
  pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((name) => (/^\d+$/.test(name) ? `[${name}]` : `.${name}`))
    .join('');
