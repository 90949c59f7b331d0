/** The marks that a format writes around calls; plain data. A mark that ends with `=` goes on to the next `>`. */
export interface CallMarkup {
  /** Marks that start calls. */
  readonly opens: readonly string[];
  /** Marks that end them. */
  readonly closes: readonly string[];
  /** Marks between the two. */
  readonly inner: readonly string[];
}

/** The marks of several formats together, each once; what opens in one of them opens in all. */
export function joinMarkup(list: readonly CallMarkup[]): CallMarkup {
  const opens = new Set(list.flatMap((markup) => markup.opens));
  const closes = new Set(list.flatMap((markup) => markup.closes).filter((mark) => !opens.has(mark)));
  const inner = list.flatMap((markup) => markup.inner).filter((mark) => !opens.has(mark) && !closes.has(mark));
  return { opens: [...opens], closes: [...closes], inner: [...new Set(inner)] };
}
