import type { ReadResult } from '../../../protocol/schema.ts';
import { ruleFromSchema } from '../../grammar/jsonSchema/fromSchema.ts';
import type { RuleStyle } from '../../grammar/jsonSchema/ruleStyle.ts';
import { all, any, type Member, type Rule } from '../../grammar/rule.ts';
import type { JsonObject } from '../../json/value.ts';
import type { ArgumentsSchema } from '../../tool.ts';
import type { ParameterLayout } from '../layout.ts';
import { literalRule } from '../marks.ts';
import { valueNotations } from './index.ts';
import { keyProblem } from './parameterKey.ts';
import type { ValueNotation } from './valueNotation.ts';

/** The notation of the values of a layout. @throws Error for a name that no notation has. */
export function notationOf({ values }: ParameterLayout): ValueNotation {
  const notation = valueNotations.get(values);
  if (!notation) throw new Error(`No value notation is named "${values}".`);
  return notation;
}

/** The arguments of a call as a layout writes them. */
export function writeParameters(args: JsonObject, layout: ParameterLayout): string {
  if (args.size === 0) return layout.empty;
  const notation = notationOf(layout);
  const parameters = [...args].map(([key, value]) => `${layout.key}${key}${notation.write(value, layout)}`);
  return layout.open + parameters.join(layout.separator);
}

/**
 * The grammar rule of the arguments of a tool: the declared parameters in their order, those not required may be absent,
 * without free white space. `errors` have what no grammar can express, with pointers into the schema.
 */
export function parametersRule(schema: ArgumentsSchema, layout: ParameterLayout): ReadResult<Rule> {
  const fixed = ['enum', 'const'].find((keyword) => keyword in schema);
  if (fixed !== undefined)
    return {
      ok: false,
      errors: [
        { pointer: `/${fixed}`, message: `is "${fixed}", which lists whole calls: a grammar cannot express it` },
      ],
    };
  // An object of any members is the default of JSON Schema; a tool that declares no parameters takes none.
  return ruleFromSchema({ properties: {}, ...schema }, listStyle(layout));
}

/** The style of the whole list: an object whose members are parameters. Schemas of arguments have no other type. */
function listStyle(layout: ParameterLayout): RuleStyle {
  const values = notationOf(layout).ruleStyle(layout);
  return {
    ...values,
    nested: values,
    object: (members) => listRule(members, layout),
    anyObject: () => literalRule(layout.empty),
    problemOf: (content) => keyProblem(content, layout),
  };
}

function listRule(members: readonly Member[], layout: ParameterLayout): Rule {
  const { open, separator, empty, key: keyMark } = layout;
  if (members.length === 0) return literalRule(empty);
  const parameters: Rule = {
    kind: 'members',
    members: members.map((member) => ({ ...member, before: literalRule(keyMark + member.key) })),
    separator: literalRule(separator),
    nonEmpty: empty !== open,
  };
  const given = open === '' ? parameters : all(literalRule(open), parameters);
  return empty === open || members.some(({ required }) => required) ? given : any(given, literalRule(empty));
}
