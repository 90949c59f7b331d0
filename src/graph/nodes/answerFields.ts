import type { AnswerForm } from '../../chat/reply/answerFields.ts';
import { AnswerFieldReader, compileAnswerForm, maxFieldLength } from '../../chat/reply/answerFields.ts';
import { answerGrammar } from '../../chat/grammar/jsonSchema/fromSchema.ts';
import { errorsBelow, type FromSchema, type SchemaError } from '../../protocol/schema.ts';
import { array, closedObject, integer, string } from '../../protocol/schemaBuilders.ts';
import { InvalidParams, unwrapParam } from '../compile/node.ts';
import type { Turn } from '../compile/turn.ts';
import type { InferenceRunner, PromptRequest } from './inference.ts';

const pointer = '/answer_fields';

export const answerFieldsParam = array(
  {
    minItems: 1,
    maxItems: 16,
    items: closedObject(['name', 'type'], {
      name: string({ minLength: 1, maxLength: 64, pattern: '^[^\\p{Cc}\\p{Cs}]*$' }, 'The name of the field.'),
      type: string(
        { enum: ['speech', 'enum', 'text', 'number', 'integer'] },
        `speech: the answer text, in one field; enum: one of values; text: up to ${maxFieldLength} characters.`,
      ),
      values: array(
        { minItems: 1, maxItems: 256, items: { type: 'string', minLength: 1, maxLength: 256 } },
        'The values of an enum.',
      ),
      minimum: integer('The smallest number.'),
      maximum: integer('The largest number.'),
    }),
  },
  'Constrained decoding: the answer is these fields in this order. Those that are no speech are sent as AnswerField.',
);

type Fields = FromSchema<typeof answerFieldsParam>;

/** Reads the parameter answer_fields. @throws InvalidParams with all errors. */
export function readAnswerForm(fields: Fields): AnswerForm {
  const errors = fields.flatMap((field, index) => errorsBelow(`/${index}`, errorsIn(field, fields.slice(0, index))));
  const speeches = fields.filter(({ type }) => type === 'speech').length;
  if (speeches !== 1)
    errors.push({
      pointer: '',
      message: `must have one field of the type "speech", not ${speeches === 0 ? 'none' : speeches}`,
    });
  if (errors.length > 0) throw new InvalidParams(errorsBelow(pointer, errors));
  return unwrapParam(pointer, compileAnswerForm(fields));
}

function* errorsIn({ name, type, values, minimum, maximum }: Fields[number], before: Fields): Generator<SchemaError> {
  if (before.some((field) => field.name === name))
    yield { pointer: '/name', message: `is the name of two fields: "${name}"; rename one` };
  if (type === 'enum' && !values) yield { pointer: '/values', message: 'is missing: an enum needs its values' };
  if (type !== 'enum' && values) yield { pointer: '/values', message: `belongs to an enum, not to the type "${type}"` };
  const twice = values?.findIndex((value, index) => values.indexOf(value) < index) ?? -1;
  if (twice >= 0) yield { pointer: `/values/${twice}`, message: `is there twice: "${values?.[twice]}"` };
  for (const [key, bound] of Object.entries({ minimum, maximum })) {
    if (bound !== undefined && type !== 'number' && type !== 'integer')
      yield { pointer: `/${key}`, message: `belongs to a number, not to the type "${type}"` };
  }
}

/** What the system message of a node says of its fields. */
export const describeForm = (system: string, { description }: AnswerForm): string =>
  `${system === '' ? '' : `${system}\n\n`}Answer in JSON of this form: ${description}`;

/**
 * Generates an answer in fields, and sends each one when it is complete, the speech in deltas or in one frame; or holds all
 * of them until the end of the turn.
 */
export async function answerInFields(
  turn: Turn,
  inference: InferenceRunner,
  request: PromptRequest,
  form: AnswerForm,
  { hold, stream, history }: { readonly hold: boolean; readonly stream: boolean; readonly history: string },
): Promise<void> {
  let hasEnded = false;
  const reader = new AnswerFieldReader(form, {
    onField: (name, value) => !hold && turn.sayField(name, value),
    onSpeech: (piece) => stream && !hold && turn.say(piece, 'delta'),
    onSpeechEnd() {
      hasEnded = true;
      if (!stream && !hold) turn.say(reader.speech, 'whole');
    },
  });
  const remembered = (): string | undefined => (history === 'fields' ? reader.result.json : undefined);
  try {
    const onText = (piece: string): void => reader.push(piece);
    const { finishReason } = await inference.complete(turn, request, { grammar: answerGrammar(form.rule), onText });
    if (hold) turn.hold(reader.speech, { fields: reader.values, prompted: remembered() });
    else if (!stream && !hasEnded) turn.say(reader.speech, 'whole');
    warnOfMissing(turn, inference.nodeName, finishReason === 'length', reader.result.missing);
  } finally {
    if (!hold) turn.setPrompted(remembered());
  }
}

function warnOfMissing(turn: Turn, nodeName: string, isCutOff: boolean, missing: readonly string[]): void {
  const names = missing.map((name) => JSON.stringify(name)).join(', ');
  if (isCutOff)
    turn.warn(`${nodeName} was cut off${names && ` before ${names}`} inside its fields; raise sampling.max_tokens`);
  else if (names) turn.warn(`${nodeName} wrote no value of ${names} that answer_fields allow`);
}
