import { keyValue } from './keyValue.ts';
import { python } from './python.ts';
import { tagged } from './tagged.ts';
import type { ValueNotation } from './valueNotation.ts';

/** The notations of the parameter values of calls, by name; to add one, add it here. */
export const valueNotations: ReadonlyMap<string, ValueNotation> = new Map(
  [tagged, keyValue, python].map((notation) => [notation.name, notation]),
);
