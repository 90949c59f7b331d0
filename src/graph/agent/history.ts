import type { DialogResult, Interaction } from '../../chat/dialog.ts';
import { createYielder } from '../../base/eventLoop.ts';
import { splitToFrames } from '../../protocol/frameSize.ts';
import { withoutMark } from '../../base/jsonLocations.ts';
import { isObject } from '../../base/jsonTypes.ts';
import { describeError, Fault } from '../../protocol/fault.ts';
import type { Exchange } from '../compile/turn.ts';
import { isJsonObject, stringifyJson } from '../../chat/json/value.ts';
import { createReader, readJsonField, type Schema, type SchemaError } from '../../protocol/schema.ts';
import { boolean, closedObject, object, string } from '../../protocol/schemaBuilders.ts';
import { parseJsonAt } from '../../chat/json/lenientParser.ts';

// JSON Schema of a saved dialog: the result of exportDialog, and createAgent.historyJson.
const historySchema = {
  type: 'array',
  items: closedObject(['user', 'assistant'], {
    user: string('Message of the user.'),
    assistant: string('Text that was sent to the client.'),
    mark: string(
      { enum: ['cancelled', 'failed', 'forgotten'] },
      'How the turn ended, if it was not completed; forgotten: later prompts do not have it.',
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
  }),
} as const satisfies Schema;

const openAiProblem =
  'has role and content, as messages of OpenAI: write each turn as {"user": "...", "assistant": "..."}';

const validateHistory = createReader(historySchema);

/**
 * Parses a saved dialog; "" = no interactions.
 * @param name what the text is called in errors.
 * @throws Fault MALFORMED_MESSAGE with the place of each error, three at most.
 */
export function parseHistory(text: string, name = 'createAgent.historyJson'): readonly Interaction[] {
  if (text === '') return [];
  if (withoutMark(text).trim() === '')
    throw new Fault('MALFORMED_MESSAGE', `${name} is empty: leave it out, or give "[]"`);
  return readJsonField(text, name, (value) => {
    const [first] = Array.isArray(value) ? (value as unknown[]) : [];
    if (isObject(first) && 'role' in first && 'content' in first)
      return { ok: false, errors: [{ pointer: '/0', message: openAiProblem }] };
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

/** Results of calls whose arguments are no JSON object: an equal call could never be found. */
const findInvalidArguments = (interactions: readonly Interaction[]): readonly SchemaError[] =>
  interactions.flatMap(({ results = [] }, turn) =>
    results.flatMap(({ arguments_json }, index) => {
      const parsed = parseJsonAt(arguments_json, 0);
      const isObjectText = parsed.ok && isJsonObject(parsed.value) && arguments_json.slice(parsed.end).trim() === '';
      if (isObjectText) return [];
      const pointer = `/${turn}/results/${index}/arguments_json`;
      return [{ pointer, message: `must be the JSON text of an object, not ${JSON.stringify(arguments_json)}` }];
    }),
  );

/** What a turn that called tools shows in later prompts when its own line is empty. */
const defaultSpoken = 'Done.';

/** What a turn leaves behind for the dialog. */
interface TurnRemains extends Pick<Interaction, 'user' | 'assistant' | 'mark'> {
  readonly variables: Readonly<Record<string, string>>;
  readonly exchanges: readonly Exchange[];
  /** The answer that later prompts show where the turn called and sent no text; undefined: it called no tool. */
  readonly spoken: (() => string) | undefined;
}

/** The interaction that a turn adds to the dialog. It is small: it has no calls, and results only if they stay. */
export function toInteraction(
  { user, assistant, mark, variables, exchanges, spoken }: TurnRemains,
  warn: (warning: string) => void,
): Interaction {
  const results = dialogResults(exchanges);
  return {
    user,
    assistant,
    ...(mark && { mark }),
    ...(Object.keys(variables).length > 0 && { variables }),
    ...(spoken && assistant === '' && { spoken: renderSpoken(spoken, warn) }),
    ...(results.length > 0 && { results }),
  };
}

function renderSpoken(render: () => string, warn: (warning: string) => void): string {
  try {
    return render().trim() || defaultSpoken;
  } catch (error) {
    warn(`the line for later turns (spoken) is "${defaultSpoken}": ${describeError(error)}`);
    return defaultSpoken;
  }
}

function dialogResults(exchanges: readonly Exchange[]): readonly DialogResult[] {
  const staying = exchanges.flatMap(({ calls }) => calls).filter(({ lifespan }) => lifespan === 'DIALOG');
  const results = staying.map(({ id, name, arguments: args, ok, content }) => {
    return { call_id: id, name, arguments_json: stringifyJson(args), ok, content };
  });
  // A call that was repeated within the turn has the result of the first one, under the same id.
  return results.filter(({ call_id }, index) => results.findIndex((other) => other.call_id === call_id) === index);
}
