const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The text of a file, without the byte order mark that some Windows editors write; undefined: it is not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}
