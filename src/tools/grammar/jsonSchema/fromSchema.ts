import type { Reading, Refusal } from '../../../schema.ts';
import { jsonText } from '../../json/value.ts';
import { areApart } from './disjoint.ts';
import { freeDepth, json } from '../anyJson.ts';
import { any, text, type Rule } from '../rule.ts';
import { SchemaPlace, type JsonSchema } from './schemaCursor.ts';
import { typeForms, typesOf, valueFits } from './types.ts';

/**
 * The rule for JSON texts that fit a schema. Nothing is weakened: what a rule cannot hold to is refused, with a pointer
 * into the schema. Some of what fits is left out: members that are not declared, exponents, more than 18 digits.
 */
export function schemaRule(schema: unknown): Reading<Rule> {
  const refusals: Refusal[] = [];
  const rule = ruleOf(schema, new SchemaPlace(refusals));
  return refusals.length === 0 ? { ok: true, value: rule } : { ok: false, refusals };
}

const deepest = 32;

const annotations: ReadonlySet<string> = new Set([
  ...['title', 'description', 'default', 'examples', 'deprecated', 'readOnly', 'writeOnly'],
  ...['$schema', '$id', '$comment', '$defs', 'definitions'],
]);

const constraintsOf = (schema: JsonSchema): readonly string[] =>
  Object.keys(schema).filter((key) => !annotations.has(key) && !key.startsWith('x-'));

function ruleOf(given: unknown, place: SchemaPlace): Rule {
  if (given === true) return json(freeDepth);
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    return place.refuse('is no schema that a value could fit');
  if (place.depth > deepest) return place.refuse('is nested too deeply');
  const schema = given as JsonSchema;
  const constraints = constraintsOf(schema);
  const choice = (['const', 'enum', 'anyOf', 'oneOf'] as const).find((keyword) => constraints.includes(keyword));
  if (choice) {
    for (const other of constraints) {
      if (other !== choice && other !== 'type')
        place.refuseKeyword(other, `which a grammar cannot hold to beside "${choice}"`);
    }
    return choices[choice](schema, place);
  }
  const types = typesOf(schema);
  if (types.length === 0) {
    const [keyword] = constraints;
    return keyword === undefined ? json(freeDepth) : place.refuseKeyword(keyword);
  }
  const rules = types.map(
    (type) => typeForms[type]?.rule(schema, place, ruleOf) ?? place.in('type').refuse(`is no type: "${type}"`),
  );
  const known = new Set(['type', ...types.flatMap((type) => typeForms[type]?.keywords ?? [])]);
  for (const keyword of constraints) if (!known.has(keyword)) place.refuseKeyword(keyword);
  return any(...rules);
}

const choices: Readonly<
  Record<'const' | 'enum' | 'anyOf' | 'oneOf', (schema: JsonSchema, place: SchemaPlace) => Rule>
> = {
  const: (schema, place) => valuesRule([schema['const']], schema, place.in('const')),
  enum: (schema, place) => valuesRule(schema['enum'], schema, place.in('enum')),
  anyOf: (schema, place) => branchesRule('anyOf', schema, place),
  oneOf(schema, place) {
    const branches = schema['oneOf'];
    if (Array.isArray(branches) && !areApart(branches))
      return place.refuseKeyword(
        'oneOf',
        'whose branches a grammar cannot keep apart; use anyOf, or give each another type or value',
      );
    return branchesRule('oneOf', schema, place);
  },
};

function valuesRule(values: unknown, schema: JsonSchema, place: SchemaPlace): Rule {
  const types = typesOf(schema);
  const fitting = (Array.isArray(values) ? values : []).filter(
    (value) => types.length === 0 || types.some((type) => valueFits(value, type)),
  );
  if (fitting.length === 0) return place.refuse('has no value that could be given');
  return any(...[...new Set(fitting.map(jsonText))].map(text));
}

// What stands beside the branches holds for each of them.
function branchesRule(keyword: 'anyOf' | 'oneOf', schema: JsonSchema, place: SchemaPlace): Rule {
  const branches = schema[keyword];
  if (!Array.isArray(branches) || branches.length === 0) return place.refuseKeyword(keyword, 'and has no branches');
  const { type } = schema;
  return any(
    ...branches.map((branch: unknown, index) => {
      const at = place.in(keyword, index);
      if (type === undefined || typeof branch !== 'object' || branch === null) return ruleOf(branch, at);
      const own = (branch as JsonSchema)['type'] ?? type;
      return own === type
        ? ruleOf({ ...branch, type }, at)
        : at.refuse(`has another type than what stands beside "${keyword}"`);
    }),
  );
}
