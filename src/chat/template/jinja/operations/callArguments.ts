import type { CallArguments, Value } from '../values/values.ts';

/**
 * The arguments of a call by the names of its parameters, in their order; undefined where one is not given.
 * @throws Error when there are too many, or one has another name.
 */
export function bindArguments(
  name: string,
  { positional, keywords }: CallArguments,
  parameters: readonly string[],
): readonly (Value | undefined)[] {
  if (positional.length > parameters.length)
    throw new Error(`${name}() takes at most ${parameters.length} arguments, got ${positional.length}`);
  for (const keyword of keywords.keys())
    if (!parameters.includes(keyword)) throw new Error(`${name}() got an unexpected keyword argument '${keyword}'`);
  return parameters.map((parameter, index) =>
    index < positional.length ? positional[index] : keywords.get(parameter),
  );
}

/** @throws Error when an argument is missing. */
export function requireArgument(name: string, value: Value | undefined): Value {
  if (value === undefined) throw new Error(`${name}() misses an argument`);
  return value;
}
