import type { Schema } from '../../protocol/schema.ts';
import type { FormatAdvice } from './advice.ts';
import { modelSchema } from '../../inference/models/catalogue/catalogue.ts';
import type { DoctorTarget } from './target.ts';

/** An entry for models.json, without members that have their default value. */
export type ModelEntry = Readonly<Record<string, unknown>>;

/** Drafts the models.json entry of a model: its own one, or for a file a new one, with the format that was found. */
export function draftEntry({ entry, isListed }: DoctorTarget, contextSize: number, format: FormatAdvice): ModelEntry {
  const [variant, ...others] = entry.variants;
  const draft = {
    ...entry,
    ...(format.isFound && { tool_call_format: format.name }),
    variants: isListed ? entry.variants : [{ ...variant, context_size: contextSize }, ...others],
  };
  return withoutDefaults(draft, modelSchema) as ModelEntry;
}

/** Removes members that have their default value or are not in the schema; the rest is in the schema's order. */
function withoutDefaults(value: unknown, schema: Schema): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutDefaults(item, schema.items ?? {}));
  const { properties } = schema;
  if (typeof value !== 'object' || value === null || !properties) return value;
  const members: Readonly<Record<string, unknown>> = { ...value };
  const kept = Object.entries(properties).filter(
    ([name, { default: defaultValue }]) => members[name] !== undefined && !isDefault(members[name], defaultValue),
  );
  return Object.fromEntries(kept.map(([name, inner]) => [name, withoutDefaults(members[name], inner)]));
}

const isDefault = (value: unknown, defaultValue: unknown): boolean =>
  JSON.stringify(value) === JSON.stringify(defaultValue);
