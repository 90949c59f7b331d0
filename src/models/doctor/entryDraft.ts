import type { Schema } from '../../schema.ts';
import type { FormatAdvice } from './advice.ts';
import { modelSchema } from '../catalogue/catalogue.ts';
import type { Subject } from './target.ts';

/** A model as models.json has it, without what is so by default. */
export type ModelEntry = Readonly<Record<string, unknown>>;

/** The entry that gives a model to a server: the one it has, or for a file a new one with what was found out. */
export function entryOf({ entry, isListed }: Subject, contextSize: number, format: FormatAdvice): ModelEntry {
  const [variant, ...others] = entry.variants;
  const found = {
    ...entry,
    ...(format.isFound && { tool_call_format: format.name }),
    variants: isListed ? entry.variants : [{ ...variant, context_size: contextSize }, ...others],
  };
  return spoken(found, modelSchema) as ModelEntry;
}

/** A value without the members that its schema fills in or does not know, these in the schema's order. */
function spoken(value: unknown, schema: Schema): unknown {
  if (Array.isArray(value)) return value.map((item) => spoken(item, schema.items ?? {}));
  const { properties } = schema;
  if (typeof value !== 'object' || value === null || !properties) return value;
  const members: Readonly<Record<string, unknown>> = { ...value };
  const said = Object.entries(properties).filter(
    ([name, { default: usual }]) => members[name] !== undefined && !isSame(members[name], usual),
  );
  return Object.fromEntries(said.map(([name, inner]) => [name, spoken(members[name], inner)]));
}

const isSame = (value: unknown, usual: unknown): boolean => JSON.stringify(value) === JSON.stringify(usual);
