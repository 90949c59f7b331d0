import type { Schema } from '../../schema.ts';
import type { FormatAdvice } from './advice.ts';
import { modelSchema } from '../catalogue/catalogue.ts';
import type { DoctorTarget } from './target.ts';

/** A model as models.json has it, without what is so by default. */
export type ModelEntry = Readonly<Record<string, unknown>>;

/** The entry that gives a model to a server: the one it has, or for a file a new one with what was found out. */
export function draftEntry({ entry, isListed }: DoctorTarget, contextSize: number, format: FormatAdvice): ModelEntry {
  const [variant, ...others] = entry.variants;
  const found = {
    ...entry,
    ...(format.isFound && { tool_call_format: format.name }),
    variants: isListed ? entry.variants : [{ ...variant, context_size: contextSize }, ...others],
  };
  return withoutDefaults(found, modelSchema) as ModelEntry;
}

/** A value without the members that its schema fills in or does not know, these in the schema's order. */
function withoutDefaults(value: unknown, schema: Schema): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutDefaults(item, schema.items ?? {}));
  const { properties } = schema;
  if (typeof value !== 'object' || value === null || !properties) return value;
  const members: Readonly<Record<string, unknown>> = { ...value };
  const said = Object.entries(properties).filter(
    ([name, { default: usual }]) => members[name] !== undefined && !isDefault(members[name], usual),
  );
  return Object.fromEntries(said.map(([name, inner]) => [name, withoutDefaults(members[name], inner)]));
}

const isDefault = (value: unknown, usual: unknown): boolean => JSON.stringify(value) === JSON.stringify(usual);
