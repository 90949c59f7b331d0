import { didYouMean } from '../../base/didYouMean.ts';
import { isObject } from '../../base/jsonTypes.ts';
import type { FromSchema } from '../../protocol/schema.ts';
import { array, closedObject, object, string } from '../../protocol/schemaBuilders.ts';
import { exitsFromParam } from '../compile/exits.ts';
import { defineNode, InvalidParams, type NodeContext, routingEffects, unwrapParam } from '../compile/node.ts';
import { answeredCalls, type Turn } from '../compile/turn.ts';
import type { EntryFilter, FilteredField, Metadata } from '../retrieval/filter/filter.ts';
import { readFilter } from '../retrieval/filter/readFilter.ts';
import type { MetadataValue } from '../storage/knowledge/knowledge.ts';

const otherwise = 'otherwise';

const params = closedObject(['cases'], {
  cases: array(
    {
      minItems: 1,
      maxItems: 64,
      items: closedObject(['exit', 'when'], {
        exit: string({ minLength: 1, maxLength: 64, pattern: '^[^\\p{Cc}\\p{Cs}]*$' }, 'The name of the exit.'),
        when: object(
          'Conditions, as those of the filter of Retrieve: {"hp": {"$lt": 20}}. They are on variables of the message, agent.turns, turn.path, turn.tool_name, turn.label and result.TOOL.',
        ),
      }),
    },
    'The first whose conditions hold gives the exit.',
  ),
});

const exitsOfBranch = { param: 'cases', member: 'exit', and: [otherwise] } as const;

type Case = FromSchema<typeof params>['cases'][number];

/** The Branch node: takes the exit of the first case whose conditions hold, without a model. */
export const branch = defineNode({
  type: 'Branch',
  summary:
    'Chooses an exit by variables of the message and by what happened in the turn, without a model: each case names an exit, and `otherwise` is one more.',
  params,
  exits: exitsOfBranch,
  effects: (settings) => ({
    ...routingEffects,
    silentExits: exitsFromParam(exitsOfBranch, settings),
    unusedExits: settings.cases.some(holdsAlways) ? [otherwise] : [],
  }),
  async create({ cases }, context) {
    const filters = cases.map(({ when }, index) => readCase(when, `/cases/${index}/when`));
    warnOfUnreached(cases, context);
    return {
      run(turn) {
        const index = filters.findIndex((filter) => filter.bind(turn.variables)(valuesOf(filter, turn)));
        return Promise.resolve(cases[index]?.exit ?? otherwise);
      },
    };
  },
});

const turnValues: Readonly<Record<string, (turn: Turn) => MetadataValue | undefined>> = {
  'agent.turns': ({ dialog }) => dialog.interactions.length,
  'turn.path': ({ visited }) => visited,
  'turn.tool_name': ({ calls, exchanges }) => (calls.at(-1) ?? answeredCalls(exchanges).at(-1))?.name,
  'turn.label': ({ route }) => route || undefined,
};

const resultPrefix = 'result.';

function readCase(when: object, pointer: string): EntryFilter {
  const filter = unwrapParam(pointer, readFilter(when, undefined));
  const known = [...Object.keys(turnValues), `${resultPrefix}TOOL`];
  for (const name of filter.fields.keys())
    if (/^(?:agent|turn)\./.test(name) && !known.includes(name)) {
      const message = `has "${name}", which is no value here (there are ${known.join(', ')}, and the variables of the message)${didYouMean(name, known)}`;
      throw new InvalidParams([{ pointer, message }]);
    }
  return filter;
}

const holdsAlways = ({ when }: Case): boolean => Object.keys(when).length === 0;

function warnOfUnreached(cases: readonly Case[], { nodeName, warn }: NodeContext): void {
  const textOf = ({ when }: Case): string => JSON.stringify(when);
  for (const [index, one] of cases.entries()) {
    const first = cases.findIndex((earlier) => holdsAlways(earlier) || textOf(earlier) === textOf(one));
    if (first < index)
      warn(`${nodeName}.params.cases[${index}] is never reached: cases[${first}] holds whenever it would`);
  }
}

/** What the conditions of a filter compare, as it is now. What is absent is not there. */
function valuesOf({ fields }: EntryFilter, turn: Turn): Metadata {
  const values = [...fields].flatMap(([name, compared]): readonly (readonly [string, MetadataValue])[] => {
    const value = valueOf(name, compared, turn);
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(values);
}

function valueOf(name: string, compared: FilteredField, turn: Turn): MetadataValue | undefined {
  const own = Object.hasOwn(turnValues, name) ? turnValues[name] : undefined;
  if (own) return own(turn);
  if (name.startsWith(resultPrefix)) return resultValue(name.slice(resultPrefix.length), turn);
  const text = Object.hasOwn(turn.variables, name) ? turn.variables[name] : undefined;
  return text === undefined ? undefined : typedText(text, compared);
}

/** Variables are texts: one that is compared with numbers is a number, if it is the text of one. */
function typedText(text: string, compared: FilteredField): MetadataValue {
  if (compared.has('number') && text.trim() !== '' && Number.isFinite(Number(text))) return Number(text);
  return compared.has('boolean') && (text === 'true' || text === 'false') ? text === 'true' : text;
}

/** A value in the last result of a tool. @param path the name of the tool, then members: `look_up.place.hp`. */
function resultValue(path: string, { exchanges }: Turn): MetadataValue | undefined {
  const called = ({ name }: { readonly name: string }): boolean => path === name || path.startsWith(`${name}.`);
  const call = answeredCalls(exchanges).findLast(called);
  if (!call) return undefined;
  const members = path
    .slice(call.name.length + 1)
    .split('.')
    .filter(Boolean);
  const value = members.reduce<unknown>(
    (held, member) => (isObject(held) && Object.hasOwn(held, member) ? held[member] : undefined),
    parseContent(call.content),
  );
  return toComparable(value);
}

function parseContent(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return content;
  }
}

// Of an object only that it exists can be told.
function toComparable(value: unknown): MetadataValue | undefined {
  if (value === undefined || value === null) return undefined;
  if (Array.isArray(value)) return value.filter((item) => typeof item === 'string');
  return typeof value === 'object' ? [] : (value as string | number | boolean);
}
