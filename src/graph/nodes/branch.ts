import { didYouMean } from '../../base/didYouMean.ts';
import { isObject, tryParseJson } from '../../base/jsonTypes.ts';
import type { FromSchema } from '../../protocol/schema.ts';
import { array, closedObject, object, string } from '../../protocol/schemaBuilders.ts';
import { JsonNumber, type JsonValue } from '../../chat/json/value.ts';
import { fieldPrefix, warnOfUnknownFields } from '../compile/graphDeclarations.ts';
import { defineNode, InvalidParams, type NodeContext, routingEffects, unwrapParam } from '../compile/node.ts';
import { answeredCalls, type Turn } from '../compile/turn.ts';
import type { EntryFilter, Held, Scalar, ValueOf } from '../retrieval/filter/filter.ts';
import { variableOperand } from '../retrieval/filter/operators.ts';
import { readFilter } from '../retrieval/filter/readFilter.ts';
import type { ScalarType } from '../storage/knowledge/knowledge.ts';

const otherwise = 'otherwise';

const params = closedObject(['cases'], {
  cases: array(
    {
      minItems: 1,
      maxItems: 64,
      items: closedObject(['exit', 'when'], {
        exit: string({ minLength: 1, maxLength: 64, pattern: '^[^\\p{Cc}\\p{Cs}]*$' }, 'The name of the exit.'),
        when: object(
          'Conditions, as those of the filter of Retrieve: {"hp": {"$lt": 20}}. They are on variables of the message and of the agent, agent.turns, agent.mode, turn.path, turn.tool_name, turn.label, fields.NAME and result.TOOL.',
        ),
      }),
    },
    'The first whose conditions hold gives the exit.',
  ),
});

type Case = FromSchema<typeof params>['cases'][number];

export const branch = defineNode({
  type: 'Branch',
  summary:
    'Chooses an exit by variables of the message and by what happened in the turn, without a model: each case names an exit, and `otherwise` is one more.',
  params,
  exits: { param: 'cases', member: 'exit', and: [otherwise] },
  effects({ cases }, exits) {
    const taken = new Set(cases.filter((each) => firstLike(each, cases) === each).map(({ exit }) => exit));
    if (!cases.some(holdsAlways)) taken.add(otherwise);
    return { ...routingEffects, silentExits: exits, unusedExits: exits.filter((exit) => !taken.has(exit)) };
  },
  async create({ cases }, context) {
    const filters = cases.map(({ when }, index) => readCase(when, `/cases/${index}/when`));
    warnOfUnreached(cases, context);
    for (const [index, { fields }] of filters.entries()) {
      warnOfUnknownTools(fields, index, context);
      warnOfUnknownFields(fields, `${context.nodeName}.params.cases[${index}]`, context);
    }
    return {
      run(turn) {
        const index = filters.findIndex((filter) => filter.bind(turn.variables)(valuesOf(turn)));
        return Promise.resolve(cases[index]?.exit ?? otherwise);
      },
    };
  },
});

const turnValues: Readonly<Record<string, (turn: Turn) => Held | undefined>> = {
  'agent.turns': ({ dialog }) => dialog.interactions.filter(({ user }) => user !== '').length,
  'agent.mode': ({ mode }) => mode,
  'turn.path': ({ visited }) => visited,
  'turn.tool_name': ({ calls, exchanges }) => (calls.at(-1) ?? answeredCalls(exchanges).at(-1))?.name,
  'turn.label': ({ route }) => route || undefined,
};

const resultPrefix = 'result.';

function readCase(when: object, pointer: string): EntryFilter {
  const filter = unwrapParam(pointer, readFilter(when, undefined));
  const known = [...Object.keys(turnValues), `${fieldPrefix}NAME`, `${resultPrefix}TOOL`];
  const isUnknown = (name: string): boolean => /^(?:agent|turn|field|results)\./.test(name) && !known.includes(name);
  const name = [...filter.fields].find(isUnknown);
  if (name === undefined) return filter;
  const message = `has "${name}", which is no value here (there are ${known.join(', ')}, and the variables of the message)${didYouMean(name, known)}`;
  throw new InvalidParams([{ pointer, message }]);
}

const holdsAlways = ({ when }: Case): boolean => Object.keys(when).length === 0;

/** The first case that holds whenever another one does; the other one itself, if there is none. */
const firstLike = (of: Case, cases: readonly Case[]): Case =>
  cases.find((one) => holdsAlways(one) || JSON.stringify(one.when) === JSON.stringify(of.when)) ?? of;

function warnOfUnreached(cases: readonly Case[], { nodeName, warn }: NodeContext): void {
  for (const [index, one] of cases.entries()) {
    const first = cases.indexOf(firstLike(one, cases));
    if (first < index)
      warn(`${nodeName}.params.cases[${index}] is never reached: cases[${first}] holds whenever it would`);
  }
}

function warnOfUnknownTools(fields: ReadonlySet<string>, index: number, context: NodeContext): void {
  const { nodeName, warn } = context;
  const tools = [...(context.toolNames() ?? [])];
  if (tools.length === 0) return;
  for (const field of fields) {
    const path = field.startsWith(resultPrefix) ? field.slice(resultPrefix.length) : undefined;
    if (path === undefined || tools.some((tool) => path === tool || path.startsWith(`${tool}.`))) continue;
    const hint = didYouMean(path.split('.', 1)[0] ?? '', tools);
    warn(`${nodeName}.params.cases[${index}] is on "${field}", and no node has such a tool${hint}`);
  }
}

const valuesOf =
  (turn: Turn): ValueOf =>
  (name, types) => {
    const own = Object.hasOwn(turnValues, name) ? turnValues[name] : undefined;
    if (own) return own(turn);
    if (name.startsWith(resultPrefix)) return resultValue(name.slice(resultPrefix.length), turn);
    if (name.startsWith(fieldPrefix)) return fieldValue(turn.fields.get(name.slice(fieldPrefix.length)));
    const text = Object.hasOwn(turn.variables, name) ? turn.variables[name] : undefined;
    return text === undefined ? undefined : typedText(text, types);
  };

const fieldValue = (value: JsonValue | undefined): Held | undefined =>
  value instanceof JsonNumber ? Number(value.digits) : (value as string | undefined);

/** Variables are texts: one that is compared with numbers is a number, if it is the text of one. */
function typedText(text: string, types: ReadonlySet<ScalarType>): Held {
  const [only = text, ...others] = [...types].map((type) => variableOperand(text)(type) ?? text);
  return others.length === 0 ? only : [only, ...others];
}

/** A value in the last result of a tool. @param path the name of the tool, then members: `look_up.place.hp`. */
function resultValue(path: string, { exchanges }: Turn): Held | undefined {
  const called = answeredCalls(exchanges).filter(({ name }) => path === name || path.startsWith(`${name}.`));
  // The name of a tool may begin with that of another and a period.
  const longest = Math.max(...called.map(({ name }) => name.length));
  const call = called.findLast(({ name }) => name.length === longest);
  if (!call) return undefined;
  const members = path
    .slice(call.name.length + 1)
    .split('.')
    .filter(Boolean);
  const parsed = tryParseJson(call.content);
  const value = members.reduce<unknown>(
    (held, member) => (isObject(held) && Object.hasOwn(held, member) ? held[member] : undefined),
    parsed === undefined ? call.content : parsed,
  );
  return toComparable(value);
}

// Of an object only that it exists can be told, in a list, too.
function toComparable(value: unknown): Held | undefined {
  if (value === undefined || value === null) return undefined;
  if (Array.isArray(value)) return value.filter((item): item is Scalar => item !== null && typeof item !== 'object');
  return typeof value === 'object' ? [] : (value as Scalar);
}
