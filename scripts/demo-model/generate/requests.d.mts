/** A part of a request: text, a slot, a slot with a value that is fixed, or a stretch that may be left out. */
export interface Part {
  readonly text?: string;
  readonly key?: string;
  readonly fixed?: string;
  readonly option?: readonly Part[];
}
export function parseRequest(request: string): Part[];
