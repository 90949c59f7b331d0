import { Validator, type OutputUnit, type Schema, type SchemaDraft } from '@cfworker/json-schema';
import { Fault } from '../../protocol/fault.ts';
import { isObject } from '../../base/jsonTypes.ts';
import { describePointer, escapePointerToken } from '../../base/jsonPointer.ts';
import { branchKeywords, listKeywords, namedKeywords, schemaKeywords } from '../../base/schemaKeywords.ts';
import { documentText } from '../../protocol/codec/documentText.ts';
import type { ParametersSchema } from './fromJsonSchema.ts';
import type { CheckedArguments } from './standardSchema.ts';

// Keywords whose errors only say that there are errors further inside.
const containers: ReadonlySet<string> = new Set([
  'properties',
  'items',
  'prefixItems',
  '$ref',
  'allOf',
  'dependentSchemas',
  'patternProperties',
  'additionalProperties',
  'unevaluatedProperties',
]);

const types = ['string', 'number', 'integer', 'boolean', 'array', 'object', 'null'];

// More than these help no model, and a schema with many parameters can have many.
const maxErrors = 8;

/**
 * Compiles a JSON Schema of arguments into a check. The schema is interpreted: no code is made of strings, which pages can
 * forbid.
 * @param path names the schema in errors.
 * @throws Fault MALFORMED_MESSAGE for a schema that is none of an object, or names an unknown type.
 */
export function compileJsonSchema(given: ParametersSchema, path: string): (args: unknown) => CheckedArguments {
  // A copy: the validator adds properties to its schema, which may be frozen, and a later change would not count.
  const schema = JSON.parse(documentText(given, path)) as Schema & ParametersSchema;
  if (schema.type !== undefined && schema.type !== 'object')
    throw new Fault('MALFORMED_MESSAGE', `${path}.type must be "object": arguments have names`);
  assertTypes(schema, path);
  const validator = new Validator(schema, draftOf(schema), false);
  return (args) => {
    const { valid, errors } = validator.validate(args);
    return valid ? { ok: true, value: args } : { ok: false, message: describeErrors(errors) };
  };
}

// Schemas without a type of their own, such as enums, are left to the validator.
function assertTypes(schema: unknown, path: string): void {
  if (!isObject(schema)) return;
  const unknown = [schema['type'] ?? []].flat().find((type) => !types.includes(type as string));
  if (unknown !== undefined) {
    throw new Fault('MALFORMED_MESSAGE', `${path}.type must be of ${types.join(', ')}, not ${JSON.stringify(unknown)}`);
  }
  for (const keyword of ['properties', ...namedKeywords]) {
    const members = schema[keyword];
    if (!isObject(members)) continue;
    for (const [name, member] of Object.entries(members))
      assertTypes(member, `${path}${describePointer(`/${keyword}${escapePointerToken(name)}`)}`);
  }
  for (const keyword of ['items', ...schemaKeywords]) assertTypes(schema[keyword], `${path}.${keyword}`);
  for (const keyword of [...branchKeywords, ...listKeywords]) {
    const members = schema[keyword];
    if (!Array.isArray(members)) continue;
    for (const [index, member] of members.entries()) assertTypes(member, `${path}.${keyword}[${index}]`);
  }
}

function draftOf({ $schema = '' }: Schema): SchemaDraft {
  const [, draft] = /draft-0?([47])\b|(?:2019-09|2020-12)/.exec($schema) ?? [];
  if (draft === '4' || draft === '7') return draft;
  return $schema.includes('2019-09') ? '2019-09' : '2020-12';
}

function describeErrors(errors: readonly OutputUnit[]): string {
  const innermost = errors.filter(({ keyword }) => !containers.has(keyword));
  const sentences = innermost.slice(0, maxErrors).map(({ instanceLocation, keyword, error }) => {
    const place = describePointer(decodeURIComponent(instanceLocation).replace(/^#/, '')).replace(/^\./, '');
    const sentence = keyword === 'false' ? 'is not allowed' : error;
    return place === '' ? sentence : `${place}: ${sentence}`;
  });
  return [...new Set(sentences)].join(' ');
}
