import { RE2JS, RE2JSSyntaxException } from 're2js';
import type { Prompt } from '../../chat/dialog.ts';
import { Fault } from '../../protocol/fault.ts';
import { parseJson } from '../../base/jsonLocations.ts';
import { createReader, type FromSchema } from '../../protocol/schema.ts';
import { integer, number, object, partialObject, string } from '../../protocol/schemaBuilders.ts';
import type { GenerateOptions, TokenChoice } from '../contract/engine.ts';

const choicesPattern = '^\\d+-\\d+:[\\d.e-]+(?: \\d+-\\d+:[\\d.e-]+)*$';

const entrySchema = partialObject({
  match: string(
    { default: '' },
    "Regular expression (RE2 syntax), matched anywhere in the user's message; absent: every message.",
  ),
  node: string({ minLength: 1 }, 'Name of the node that it answers; absent: every node.'),
  nth: integer({ minimum: 1 }, "Number of the turn's inference, from 1; absent: each."),
  answer: string('What the model writes, <|control|> tokens included.'),
  scores: object(
    { additionalProperties: { type: 'number', minimum: 0, maximum: 1 } },
    'Where a node scores answers: the probability of each answer. Others are improbable.',
  ),
  confidence: number({ minimum: 0, maximum: 1 }, 'How probable the calls of the answer are; absent: it is not known.'),
  choices: string(
    { pattern: choicesPattern },
    'How probable parts of a recorded answer are, as "start-end:probability" with spaces between; others are certain.',
  ),
  finish: string(
    { enum: ['end', 'length', 'stop'] },
    'Why a recorded answer ended: by itself, at max_tokens, or at a stop string. It is not cut at max_tokens then.',
  ),
  case: string(
    { minLength: 1 },
    'Name of the test case that it answers; absent: each. Outside of test cases it answers nothing.',
  ),
  turn: integer({ minimum: 1 }, 'Number of the turn in the case, from 1; absent: each.'),
  delay_ms: integer({ minimum: 0, maximum: 2147483647, default: 0 }, 'Wait before each chunk of the answer.'),
  chunk: integer({ minimum: 0, default: 0 }, 'Characters of a chunk; 0 = a word and its space.'),
});

/** Probabilities are rounded: 0.7 + 0.2 + 0.1 is a little less than 1, other sums are a little more. */
const maxTotal = 1 + 1e-9;
const readEntries = createReader({ type: 'array', items: entrySchema });

type ScriptEntry = FromSchema<typeof entrySchema>;

/** An answer of the mock engine, and how fast it is generated. */
export interface ScriptedReply extends Pick<ScriptEntry, 'delay_ms' | 'chunk' | 'finish'> {
  readonly answer: string;
  /** How probable parts of the answer are; undefined: it is not known. */
  readonly choices?: readonly TokenChoice[];
}

export interface ScriptedScores extends Pick<ScriptEntry, 'delay_ms'> {
  readonly scores: { readonly [answer: string]: number };
}

/** What a scripted answer is chosen by. */
export interface ScriptedRequest {
  /** The user's message of the turn. */
  readonly message: string;
  readonly node: string;
  /** The number of the inference within its turn. */
  readonly inference: number;
  /** The test case that runs, and the number of its turn; absent outside of tests. */
  readonly case?: string;
  readonly turn?: number;
}

/** Mock script: answers of the mock engine. The first entry that matches a request and has what it asks for is used. */
export type MockScript = readonly {
  readonly matches: (request: ScriptedRequest) => boolean;
  readonly reply: ScriptedReply | undefined;
  readonly scores: ScriptedScores | undefined;
}[];

/** Entries of a mock script as a file has them. */
export type MockScriptEntry = Omit<ScriptEntry, 'delay_ms' | 'chunk'>;

/** Parses a mock script from JSON text. @throws Fault INVALID_PARAM_VALUE that names the file and the entry. */
export function readMockScript(text: string, file: string): MockScript {
  const entries = readEntries(parseJson(text, (problem) => scriptFault(file, `it ${problem}`)));
  if (!entries.ok) {
    throw scriptFault(
      file,
      entries.errors.map(({ pointer, message }) => `${pointer || 'the script'} ${message}`).join('; '),
    );
  }
  return entries.value.map(({ match, node, nth, scores, case: testCase, turn, ...given }, index) => {
    const { answer, finish, delay_ms, chunk } = given;
    const rest = { delay_ms, chunk };
    if (answer === undefined && scores === undefined)
      throw scriptFault(file, `/${index} must have an answer, or scores for a node that scores answers`);
    const total = Object.values(scores ?? {}).reduce((sum, probability) => sum + probability, 0);
    if (total > maxTotal) throw scriptFault(file, `/${index}/scores must not add up to more than 1, not ${total}`);
    const pattern = compile(match, `${file}: /${index}/match`);
    const matches = (request: ScriptedRequest): boolean =>
      (node === undefined || node === request.node) &&
      (nth === undefined || nth === request.inference) &&
      (testCase === undefined || testCase === request.case) &&
      (turn === undefined || turn === request.turn) &&
      pattern.matcher(request.message).find();
    return {
      matches,
      reply: answer === undefined ? undefined : { answer, ...(finish && { finish }), ...readChoices(given), ...rest },
      scores: scores && { scores, ...rest },
    };
  });
}

type WithChoices = Pick<Partial<ScriptEntry>, 'answer' | 'confidence' | 'choices'>;

function readChoices({ answer = '', confidence, choices }: WithChoices): Pick<ScriptedReply, 'choices'> {
  if (choices === undefined && confidence === undefined) return {};
  const parts = (choices ?? `0-${answer.length}:${confidence}`).split(' ').map((part) => {
    const [range = '', probability] = part.split(':');
    const [start, end] = range.split('-');
    return { start: Number(start), end: Number(end), probability: Number(probability) };
  });
  return { choices: parts };
}

/** What the script is asked for an inference of a node. */
export function scriptedRequest(
  { messages }: Prompt,
  { message, inference = 1 }: Pick<GenerateOptions, 'message' | 'inference'>,
  node: string,
): ScriptedRequest {
  const last = messages.findLast(({ role, toolExchange }) => role === 'user' && !toolExchange);
  return { message: message ?? last?.text ?? '', inference, node };
}

/** The first reply of a script that matches a request; without one, an echo of the message. */
export function findReply(script: MockScript, request: ScriptedRequest): ScriptedReply {
  const entry = script.find(({ reply, matches }) => reply && matches(request));
  return entry?.reply ?? { answer: `You said: ${request.message}`, delay_ms: 0, chunk: 0 };
}

/** The first scores of a script that match a request. */
export const findScores = (script: MockScript, request: ScriptedRequest): ScriptedScores | undefined =>
  script.find(({ scores, matches }) => scores && matches(request))?.scores;

function compile(pattern: string, location: string): RE2JS {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error;
    throw scriptFault(
      location,
      `is not a supported pattern (RE2 syntax, no lookaround or backreferences): ${error.error}`,
    );
  }
}

const scriptFault = (location: string, why: string): Fault =>
  new Fault('INVALID_PARAM_VALUE', `the mock script ${location}: ${why}`);
