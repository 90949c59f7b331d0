import type { DialogResult, Interaction } from '../../chat/dialog.ts';
import { createYielder } from '../../base/eventLoop.ts';
import { splitToFrames } from '../../protocol/frameSize.ts';
import { withoutMark } from '../../base/jsonLocations.ts';
import { isObject } from '../../base/jsonTypes.ts';
import { describeError, Fault } from '../../protocol/fault.ts';
import { answeredCalls, type Exchange } from '../compile/turn.ts';
import { parseJsonObject } from '../../chat/json/lenientParser.ts';
import { stringifyJson } from '../../chat/json/value.ts';
import { createReader, invalid, readJsonField, type Schema, type SchemaError } from '../../protocol/schema.ts';
import { boolean, closedObject, integer, object, partialObject, string } from '../../protocol/schemaBuilders.ts';

// More than one agent can have.
const maxSummarised = 2 ** 31 - 1;

// JSON Schema of a saved dialog: the result of exportDialog, and createAgent.historyJson.
const historySchema = {
  type: 'array',
  items: closedObject(['user', 'assistant'], {
    user: string('Message of the user.'),
    assistant: string('Text that was sent to the client.'),
    prompted: string('What later prompts show in place of the text: the fields of an answer, as JSON.'),
    mark: string(
      { enum: ['cancelled', 'failed', 'forgotten', 'recorded'] },
      'How the turn ended, if it was not completed; forgotten: later prompts do not have it; recorded: they have its message, which no model answered.',
    ),
    variables: object({ additionalProperties: { type: 'string' } }, 'Variables of the message.'),
    spoken: string('What the model sees as the answer of a turn that called tools and sent no text.'),
    results: {
      type: 'array',
      description: 'Results of its calls that stay in the dialog.',
      items: closedObject(['call_id', 'name', 'arguments_json', 'ok', 'content'], {
        call_id: string('The id of the call.'),
        name: string('The name of the tool.'),
        arguments_json: string('The arguments, as JSON text of an object.'),
        ok: boolean('Whether the call succeeded.'),
        content: string('The result, as text or JSON.'),
      }),
    },
    result_metadata: {
      type: 'array',
      description: 'What the client has kept with results of its calls; in no prompt.',
      items: closedObject(['call_id', 'name', 'metadata_json'], {
        call_id: string('The id of the call.'),
        name: string('The name of the tool.'),
        metadata_json: string('A JSON document.'),
      }),
    },
    agent: partialObject({
      mode: string({ enum: ['AUTO', 'MANUAL'] }, 'Who answers messages: the graph, or people. Default: AUTO.'),
      variables: object({ additionalProperties: { type: 'string' } }, 'Variables of all turns.'),
      pending: {
        type: 'array',
        description: 'The calls that lack something or are unsure.',
        items: closedObject(['node', 'tool_name', 'arguments_json', 'missing', 'turns_left'], {
          node: string('The node that detected it.'),
          tool_name: string('The name of the tool.'),
          arguments_json: string('The arguments that are valid, as JSON text of an object.'),
          missing: {
            type: 'array',
            items: closedObject(['name', 'message', 'significance', 'examples'], {
              name: string('The path of the parameter.'),
              message: string('What is wrong.'),
              significance: string('Why the value is needed.'),
              examples: { type: 'array', items: {} },
            }),
          },
          turns_left: integer({ minimum: 0 }, 'How many more turns it is kept without progress.'),
        }),
      },
      summaries: {
        type: 'array',
        description: 'The running summaries, of each node one at most.',
        items: closedObject(['node', 'text', 'interactions', 'entries_after'], {
          node: string('The node whose prompts have it.'),
          text: string({ minLength: 1 }, 'The summary.'),
          interactions: integer({ minimum: 1, maximum: maxSummarised }, 'How many interactions it stands for.'),
          entries_after: integer(
            { minimum: 0, maximum: maxSummarised },
            'How many entries, up to this one, come after them.',
          ),
        }),
      },
    }),
  }),
} as const satisfies Schema;

const openAiProblem =
  'has role and content, as messages of OpenAI: write each turn as {"user": "...", "assistant": "..."}';

const validateHistory = createReader(historySchema);

/** Parses a saved dialog; "" = []. @param name for errors. @throws Fault MALFORMED_MESSAGE with up to three places. */
export function parseHistory(text: string, name = 'createAgent.historyJson'): readonly Interaction[] {
  if (text === '') return [];
  if (withoutMark(text).trim() === '')
    throw new Fault('MALFORMED_MESSAGE', `${name} is empty: leave it out, or give "[]"`);
  return readJsonField(text, name, (value) => {
    const [first] = Array.isArray(value) ? (value as unknown[]) : [];
    if (isObject(first) && 'role' in first && 'content' in first) return invalid('/0', openAiProblem);
    const reading = validateHistory(value);
    const errors = reading.ok ? findInvalidArguments(reading.value) : [];
    return errors.length > 0 ? { ok: false, errors } : reading;
  });
}

// Characters, above which one frame has no room.
const splitLength = 64 * 1024;

/** Serializes a dialog to JSON, as `parseHistory` reads it, in pieces for one frame each. */
export async function splitHistory(interactions: readonly Interaction[]): Promise<readonly string[]> {
  const yieldToOthers = createYielder();
  const pieces: string[] = [];
  let rest = '[';
  for (const [index, interaction] of [...interactions].entries()) {
    rest += (index > 0 ? ',' : '') + JSON.stringify(interaction);
    if (rest.length > splitLength) {
      const split = splitToFrames(rest);
      rest = split.at(-1) ?? '';
      pieces.push(...split.slice(0, -1));
    }
    await yieldToOthers();
  }
  return [...pieces, ...splitToFrames(`${rest}]`)];
}

/** Results of calls, and pending calls, whose arguments are no JSON object: an equal call could never be found. */
const findInvalidArguments = (interactions: readonly Interaction[]): readonly SchemaError[] =>
  interactions.flatMap(({ results = [], agent }, turn) =>
    Object.entries({ results, 'agent/pending': agent?.pending ?? [] }).flatMap(([list, calls]) =>
      calls.flatMap(({ arguments_json }, index) => {
        if (parseJsonObject(arguments_json)) return [];
        const pointer = `/${turn}/${list}/${index}/arguments_json`;
        return [{ pointer, message: `must be the JSON text of an object, not ${JSON.stringify(arguments_json)}` }];
      }),
    ),
  );

/** What a turn that called tools shows in later prompts when its own line is empty. */
const defaultSpoken = 'Done.';

/** The answer that later prompts show of a turn that called tools and sent no text. */
export function renderSpoken(render: () => string, warn: (warning: string) => void): string {
  try {
    return render().trim() || defaultSpoken;
  } catch (error) {
    warn(`the line for later turns (spoken) is "${defaultSpoken}": ${describeError(error)}`);
    return defaultSpoken;
  }
}

/** The results of a turn that stay in the dialog. */
export const dialogResults = (exchanges: readonly Exchange[]): readonly DialogResult[] =>
  answeredCalls(exchanges)
    .filter(({ lifespan }) => lifespan === 'DIALOG')
    .map(({ id, name, arguments: args, ok, content }) => {
      return { call_id: id, name, arguments_json: stringifyJson(args), ok, content };
    });
