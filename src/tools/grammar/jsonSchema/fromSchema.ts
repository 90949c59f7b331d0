import type { ReadResult, SchemaError } from '../../../schema.ts';
import { stringifyJson } from '../../json/value.ts';
import { areDisjoint } from './disjoint.ts';
import { defaultJsonDepth, json } from '../anyJson.ts';
import { any, text, type Rule } from '../rule.ts';
import { SchemaCursor, type JsonSchema } from './schemaCursor.ts';
import { typeRules, typesOf, valueFits } from './types.ts';

/**
 * The rule for JSON texts that fit a schema. Nothing is weakened: what a rule cannot hold to is refused, with a pointer
 * into the schema. Some of what fits is left out: members that are not declared, exponents, more than 18 digits.
 */
export function ruleFromSchema(schema: unknown): ReadResult<Rule> {
  const errors: SchemaError[] = [];
  const rule = createRule(schema, new SchemaCursor(errors));
  return errors.length === 0 ? { ok: true, value: rule } : { ok: false, errors };
}

const maxSchemaDepth = 32;

const annotations: ReadonlySet<string> = new Set([
  ...['title', 'description', 'default', 'examples', 'deprecated', 'readOnly', 'writeOnly'],
  ...['$schema', '$id', '$comment', '$defs', 'definitions'],
]);

const constraintsOf = (schema: JsonSchema): readonly string[] =>
  Object.keys(schema).filter((key) => !annotations.has(key) && !key.startsWith('x-'));

function createRule(given: unknown, place: SchemaCursor): Rule {
  if (given === true) return json(defaultJsonDepth);
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    return place.addError('is no schema that a value could fit');
  if (place.depth > maxSchemaDepth) return place.addError('is nested too deeply');
  const schema = given as JsonSchema;
  const constraints = constraintsOf(schema);
  const choice = (['const', 'enum', 'anyOf', 'oneOf'] as const).find((keyword) => constraints.includes(keyword));
  if (choice) {
    for (const other of constraints) {
      if (other !== choice && other !== 'type')
        place.addKeywordError(other, `which a grammar cannot hold to beside "${choice}"`);
    }
    return choices[choice](schema, place);
  }
  const types = typesOf(schema);
  if (types.length === 0) {
    const [keyword] = constraints;
    return keyword === undefined ? json(defaultJsonDepth) : place.addKeywordError(keyword);
  }
  const rules = types.map(
    (type) => typeRules[type]?.rule(schema, place, createRule) ?? place.child('type').addError(`is no type: "${type}"`),
  );
  const known = new Set(['type', ...types.flatMap((type) => typeRules[type]?.keywords ?? [])]);
  for (const keyword of constraints) if (!known.has(keyword)) place.addKeywordError(keyword);
  return any(...rules);
}

const choices: Readonly<
  Record<'const' | 'enum' | 'anyOf' | 'oneOf', (schema: JsonSchema, place: SchemaCursor) => Rule>
> = {
  const: (schema, place) => valuesRule([schema['const']], schema, place.child('const')),
  enum: (schema, place) => valuesRule(schema['enum'], schema, place.child('enum')),
  anyOf: (schema, place) => branchesRule('anyOf', schema, place),
  oneOf(schema, place) {
    const branches = schema['oneOf'];
    if (Array.isArray(branches) && !areDisjoint(branches))
      return place.addKeywordError(
        'oneOf',
        'whose branches a grammar cannot keep apart; use anyOf, or give each another type or value',
      );
    return branchesRule('oneOf', schema, place);
  },
};

function valuesRule(values: unknown, schema: JsonSchema, place: SchemaCursor): Rule {
  const types = typesOf(schema);
  const fitting = (Array.isArray(values) ? values : []).filter(
    (value) => types.length === 0 || types.some((type) => valueFits(value, type)),
  );
  if (fitting.length === 0) return place.addError('has no value that could be given');
  return any(...[...new Set(fitting.map(stringifyJson))].map(text));
}

// What stands beside the branches holds for each of them.
function branchesRule(keyword: 'anyOf' | 'oneOf', schema: JsonSchema, place: SchemaCursor): Rule {
  const branches = schema[keyword];
  if (!Array.isArray(branches) || branches.length === 0) return place.addKeywordError(keyword, 'and has no branches');
  const { type } = schema;
  return any(
    ...branches.map((branch: unknown, index) => {
      const at = place.child(keyword, index);
      if (type === undefined || typeof branch !== 'object' || branch === null) return createRule(branch, at);
      const own = (branch as JsonSchema)['type'] ?? type;
      return own === type
        ? createRule({ ...branch, type }, at)
        : at.addError(`has another type than what stands beside "${keyword}"`);
    }),
  );
}
