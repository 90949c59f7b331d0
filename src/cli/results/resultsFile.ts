import { isObject } from '../../jsonTypes.ts';
import { createReader, type FromSchema } from '../../schema.ts';
import { isWellFormed } from '../../wire/wellFormed.ts';
import { readJsonFile, type JsonFile } from '../jsonFile.ts';
import { describeCall, failure, type CallAnswer, type CallAnswerer, type NotifiedCall } from './callAnswer.ts';

const entrySchema = {
  type: 'object',
  additionalProperties: false,
  required: ['tool'],
  properties: {
    tool: { type: 'string', minLength: 1 },
    arguments: { type: 'object', default: {} },
    ok: { type: 'boolean', default: true },
    content: { default: 'ok' },
    lifespan: { type: 'string', enum: ['TURN', 'DIALOG'], default: 'TURN' },
  },
} as const;

const readEntries = createReader({ type: 'array', items: entrySchema });

type ResultEntry = FromSchema<typeof entrySchema>;

const maxContentBytes = 256 * 1024;

/**
 * Reads the file of `--results`: a list of results, each for the calls of a tool. The first entry that matches a call is
 * its result.
 * @throws Error that names the file, the place, the entry and the fix.
 */
export async function readResultsFile(path: string): Promise<CallAnswerer> {
  const file = await readJsonFile(path);
  if (file.syntaxError !== undefined) throw new Error(file.syntaxError);
  const reading = readEntries(JSON.parse(file.text));
  if (!reading.ok) {
    throw new Error(reading.errors.map(({ pointer, message }) => describeAt(file, pointer, message)).join('\n'));
  }
  const results = reading.value.map((entry, index) => ({ entry, result: toResult(file, entry, index) }));
  const find = (call: NotifiedCall) => results.find(({ entry }) => isFor(entry, call))?.result;
  return {
    answer: (call) => {
      const result = find(call);
      if (result) return { result };
      return {
        result: failure(`no result is known for this call of ${call.toolName}`),
        note: `${path} has no entry for ${describeCall(call)}: the call fails; add {"tool": "${call.toolName}", "content": ...}`,
      };
    },
    describeUnused: (call) =>
      find(call) && `${path} is not used for ${describeCall(call)}: its node waits for no result (await_results)`,
  };
}

const isFor = (entry: ResultEntry, { toolName, arguments: args }: NotifiedCall): boolean =>
  entry.tool === toolName && isPartOf(entry.arguments, args);

// Whether a value has all that is expected; objects may have more.
function isPartOf(expected: unknown, actual: unknown): boolean {
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

function toResult(file: JsonFile, { ok, content: value, lifespan }: ResultEntry, index: number): CallAnswer['result'] {
  const content = typeof value === 'string' ? value : JSON.stringify(value);
  const problem = findProblem(content);
  if (problem === undefined) return { ok, content, lifespan };
  throw new Error(describeAt(file, `/${index}/content`, problem));
}

// What the server would refuse: the turn would wait in vain.
function findProblem(content: string): string | undefined {
  if (!isWellFormed(content)) return 'has half of a surrogate pair; write both halves, such as \\ud83d\\ude00';
  const bytes = Buffer.byteLength(content);
  return bytes > maxContentBytes ? `has ${bytes} bytes, and ${maxContentBytes} are allowed; shorten it` : undefined;
}

// People count from 1.
function describeAt(file: JsonFile, pointer: string, message: string): string {
  const place = file.positionOf(pointer);
  const [, index, ...names] = pointer.split('/');
  if (index === undefined)
    return `${place}: the list of results ${message}; write [{"tool": "the name", "content": "the result"}]`;
  const entry = `entry ${Number(index) + 1}`;
  return `${place}: ${[entry, ...names].join('.')} ${message}${names.length === 0 ? '; write {"tool": "the name", "content": "the result"}' : ''}`;
}
