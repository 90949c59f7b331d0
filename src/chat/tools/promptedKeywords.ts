import { isObject, type JsonSchema } from '../../base/jsonTypes.ts';
import type { ArgumentsSchema } from '../tool.ts';

/** What a chat template may leave out of the declaration of a tool that it writes. */
interface PromptedKeyword {
  readonly name: string;
  isUsedBy(schema: JsonSchema): boolean;
  /** Parameters with it, and the text in it by which it is found in a prompt. */
  readonly sample: ArgumentsSchema;
  readonly mark: string;
}

const sampleWith = (property: JsonSchema, others: JsonSchema = {}): ArgumentsSchema => ({
  type: 'object',
  properties: { zq_probe: { description: 'Probe of a parameter.', ...property } },
  required: ['zq_probe'],
  ...others,
});

const keywords: readonly PromptedKeyword[] = [
  {
    name: 'anyOf',
    isUsedBy: ({ anyOf, oneOf }) => anyOf !== undefined || oneOf !== undefined,
    sample: sampleWith({ anyOf: [{ type: 'string', enum: ['zqbranch'] }, { type: 'integer' }] }),
    mark: 'zqbranch',
  },
  {
    name: '$ref',
    isUsedBy: ({ $ref }) => $ref !== undefined,
    sample: sampleWith({ $ref: '#/$defs/place' }, { $defs: { place: { type: 'string', enum: ['zqtarget'] } } }),
    mark: 'zqtarget',
  },
  {
    name: 'an enum of numbers',
    isUsedBy: ({ enum: values }) => Array.isArray(values) && values.some((value) => typeof value === 'number'),
    sample: sampleWith({ type: 'integer', enum: [48151, 62342] }),
    mark: '62342',
  },
];

/** What a chat template leaves out of declarations. @param render a prompt with a tool of these parameters. */
export const omittedKeywords = (render: (parameters: ArgumentsSchema) => string | undefined): readonly string[] =>
  keywords.filter(({ sample, mark }) => render(sample)?.includes(mark) === false).map(({ name }) => name);

/** Those of some keywords that a schema uses anywhere. */
export function usedKeywords(schema: unknown, names: readonly string[]): readonly string[] {
  const looked = keywords.filter(({ name }) => names.includes(name));
  const used = new Set<string>();
  const parts: unknown[] = looked.length > 0 ? [schema] : [];
  for (const part of parts) {
    if (isObject(part)) for (const { name, isUsedBy } of looked) if (isUsedBy(part)) used.add(name);
    if (typeof part === 'object' && part !== null) parts.push(...Object.values(part));
  }
  return names.filter((name) => used.has(name));
}
