import { createReader, type FromSchema, type Schema, type SchemaError } from '../protocol/schema.ts';
import { boolean, closedObject, object, string } from '../protocol/schemaBuilders.ts';
import { type CallAnswer, type CallAnswerer, describeCall, failure, type NotifiedCall } from './callAnswers.ts';
import { describeMistakes, readValidJson } from './jsonFile.ts';
import { isObject } from '../base/jsonTypes.ts';

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
