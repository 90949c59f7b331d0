import type { Interface } from 'node:readline/promises';
import type { AgentHandle, SubmittedResult, ToolCall } from '../client/index.ts';
import { Fault } from '../protocol/fault.ts';
import { createReader, type FromSchema, type Schema, type SchemaError } from '../protocol/schema.ts';
import { boolean, closedObject, object, string } from '../protocol/schemaBuilders.ts';
import { describeMistakes, readValidJson } from './findGraph.ts';
import { isObject } from '../base/jsonTypes.ts';

/** A call whose result the turn may wait for. */
export type NotifiedCall = Pick<ToolCall, 'callId' | 'turnId' | 'toolName' | 'arguments' | 'awaitsResult'>;

export interface CallAnswer {
  readonly result: Omit<SubmittedResult, 'callId'>;
  /** What the user is told; undefined: the result speaks for itself. */
  readonly note?: string;
}

export interface CallAnswerer {
  /** The result of a call that the turn waits for. The signal is aborted when it no longer waits. */
  answer(call: NotifiedCall, signal: AbortSignal): CallAnswer | Promise<CallAnswer>;
  /** What the user is told of a call whose result the turn does not wait for; undefined: nothing. */
  describeUnused?(call: NotifiedCall): string | undefined;
}

/** A call as the user reads it: its tool, and its arguments as JSON. */
export const describeCall = ({ toolName, arguments: args }: Pick<NotifiedCall, 'toolName' | 'arguments'>): string =>
  `${toolName} ${JSON.stringify(args)}`;

const failure = (content: string): CallAnswer['result'] => ({ ok: false, content });

/** Lets every call fail: no tools are there. */
export const noTools: CallAnswerer = {
  answer: (call) => ({
    result: failure('no result; give --results FILE'),
    note: `no tools: ${describeCall(call)} fails; give --results FILE`,
  }),
};

export type TurnAnswers = ReturnType<typeof turnAnswers>;

/** Begins to answer the calls of one turn. @param onNote gets what the user has to know; default: prints to stderr. */
export function turnAnswers(agent: AgentHandle, answerer: CallAnswerer, onNote = printNote) {
  let waitEnd = new AbortController();
  const note = (text: string | undefined): void => {
    if (text !== undefined) onNote(text);
  };
  const answer = async (call: NotifiedCall): Promise<void> => {
    const { callId, turnId, toolName } = call;
    const { signal } = waitEnd;
    const given = await answerer.answer(call, signal);
    if (signal.aborted) return;
    note(given.note);
    try {
      await agent.submitToolResults([{ callId, ...given.result }], { turnId });
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      // When the connection drops, the turn says so.
      if (error.name !== 'CONNECTION_DROPPED') note(`the result of ${toolName} was not used: ${error.message}`);
    }
  };
  return {
    /** Answers a call that the turn waits for. */
    add(call: NotifiedCall): void {
      if (call.awaitsResult) void answer(call);
      else note(answerer.describeUnused?.(call));
    },
    /** The turn no longer waits for the calls so far: it goes on, or has ended. */
    endWait(): void {
      waitEnd.abort();
      waitEnd = new AbortController();
    },
  };
}

const printNote = (note: string): void => void process.stderr.write(`-- ${note}\n`);

const usage = 'type the result as text or JSON; an empty line is "ok", and !reason a failed call';

/** Asks for the result of each call in the terminal, one after the other. */
export function terminalAnswerer(input: Interface): CallAnswerer {
  const closed = new AbortController();
  input.once('close', () => closed.abort());
  let last: Promise<unknown> = Promise.resolve();
  let isExplained = false;
  const ask = async (call: NotifiedCall, signal: AbortSignal): Promise<CallAnswer> => {
    const none = { result: failure('no result was given'), note: `no result was given for ${describeCall(call)}` };
    if (signal.aborted) return none;
    if (!isExplained) process.stderr.write(`-- ${usage}\n`);
    isExplained = true;
    // What is printed next does not belong to the question.
    const endLine = (): boolean => process.stderr.write('\n');
    signal.addEventListener('abort', endLine, { once: true });
    try {
      return { result: readResult(await input.question(`result of ${describeCall(call)}: `, { signal })) };
    } catch (error) {
      if (!signal.aborted) throw error;
      return none;
    } finally {
      signal.removeEventListener('abort', endLine);
    }
  };
  return {
    answer(call, waitEnd) {
      const asked = last.then(() => ask(call, AbortSignal.any([waitEnd, closed.signal])));
      last = asked;
      return asked;
    },
  };
}

function readResult(line: string): CallAnswer['result'] {
  const text = line.trim();
  if (text.startsWith('!')) return failure(text.slice(1).trim());
  return { ok: true, content: text === '' ? 'ok' : text };
}

/** JSON Schema of what names a call: its tool, and values of its arguments. */
export const callSchema = closedObject(['tool'], {
  tool: string({ minLength: 1 }, 'The name of the tool.'),
  arguments: object(
    { default: {} },
    'Values that the call must have; it may have others, too. Default {}: every call matches.',
  ),
});

/** JSON Schema of a list of results: the file of `--results`, and `results` of a turn in a cases file. */
export const resultsSchema = {
  type: 'array',
  description: 'Results of calls that the turn waits for; the first entry that matches a call is its result.',
  items: {
    ...callSchema,
    properties: {
      ...callSchema.properties,
      ok: boolean({ default: true }, 'Whether the call succeeds.'),
      content: { default: 'ok', description: 'The result: text, or any JSON value.' },
      lifespan: string(
        { enum: ['TURN', 'DIALOG'], default: 'TURN' },
        'Whether the result stays in the dialog after its turn.',
      ),
    },
  },
} as const satisfies Schema;

type ResultEntries = FromSchema<typeof resultsSchema>;

const maxContentBytes = 256 * 1024;

/** The contents of results that the server would refuse: the turn would wait in vain. */
export function* findContentErrors(entries: ResultEntries): Generator<SchemaError> {
  for (const [index, entry] of entries.entries()) {
    const bytes = Buffer.byteLength(contentOf(entry));
    const message = `has ${bytes} bytes, and ${maxContentBytes} are allowed; shorten it`;
    if (bytes > maxContentBytes) yield { pointer: `/${index}/content`, message };
  }
}

/** Answers calls with results. @param source where the results are, for notes. */
export function answererOf(entries: ResultEntries, source: string): CallAnswerer {
  const find = (call: NotifiedCall): CallAnswer['result'] | undefined => {
    const entry = entries.find(({ tool, arguments: args }) => tool === call.toolName && isPartOf(args, call.arguments));
    return entry && { ok: entry.ok, content: contentOf(entry), lifespan: entry.lifespan };
  };
  return {
    answer: (call) => {
      const result = find(call);
      if (result) return { result };
      return {
        result: failure(`no result is known for this call of ${call.toolName}`),
        note: `${source} has no entry for ${describeCall(call)}: the call fails; add {"tool": "${call.toolName}", "content": ...}`,
      };
    },
    describeUnused: (call) =>
      find(call) && `${source} is not used for ${describeCall(call)}: its node waits for no result (await_results)`,
  };
}

const contentOf = ({ content }: ResultEntries[number]): string =>
  typeof content === 'string' ? content : JSON.stringify(content);

const readEntries = createReader(resultsSchema);

/** Reads the list of results in the file of `--results`. @throws Error with the file, the place and the fix. */
export async function readResultsFile(path: string): Promise<CallAnswerer> {
  const file = await readValidJson(path);
  const reading = readEntries(JSON.parse(file.text));
  if (!reading.ok) throw new Error(describeMistakes(file, reading.errors, describeEntry));
  const [problem] = findContentErrors(reading.value);
  if (problem) throw new Error(describeMistakes(file, [problem], describeEntry));
  return answererOf(reading.value, path);
}

// People count from 1.
function describeEntry({ pointer, message }: SchemaError): string {
  const [, index, ...names] = pointer.split('/');
  const example = '{"tool": "the name", "content": "the result"}';
  if (index === undefined) return `the list of results ${message}; write [${example}]`;
  const sentence = `${[`entry ${Number(index) + 1}`, ...names].join('.')} ${message}`;
  return names.length === 0 ? `${sentence}; write ${example}` : sentence;
}

/** Whether a value has all that is expected: objects may have more members, also inside of others; lists may not be longer. */
export function isPartOf(expected: unknown, actual: unknown): boolean {
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return false;
    return expected.every((item, index) => isPartOf(item, actual[index]));
  }
  if (!isObject(expected)) return expected === actual;
  if (!isObject(actual)) return false;
  return Object.entries(expected).every(
    ([name, value]) => Object.hasOwn(actual, name) && isPartOf(value, actual[name]),
  );
}
