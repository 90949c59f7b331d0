import { ruleFromSchema } from '../../src/chat/grammar/jsonSchema/fromSchema.ts';
import type { Rule } from '../../src/chat/grammar/rule.ts';

/** Converts a JSON Schema to a grammar rule. @throws Error when no grammar can express it. */
export function ruleFor(schema: object): Rule {
  const reading = ruleFromSchema(schema);
  if (!reading.ok) throw new Error(JSON.stringify(reading.errors));
  return reading.value;
}

/** A JSON Schema of an object; all properties are required unless `required` lists some. */
export const objectSchema = (properties: object, required: readonly string[] = Object.keys(properties)): object => ({
  type: 'object',
  properties,
  required,
});
