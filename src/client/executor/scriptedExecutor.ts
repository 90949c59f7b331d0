import { malformed } from '../../protocol/fault.ts';
import { wrongType } from '../../protocol/codec/json.ts';
import { checks, optionsCheck } from '../options.ts';
import type { ToolCall } from '../toolCall.ts';
import { ToolExecutor } from './executor.ts';
import { checkExecutorOptions, type ExecutorOptions } from './toolOutcome.ts';
import { isSameJson } from '../../base/jsonTypes.ts';

/** A call that a test expects, and what comes of it. */
export interface ScriptedCall {
  /** The name of the tool. */
  readonly tool: string;
  /** The arguments of the call; default: any. */
  readonly arguments?: Readonly<Record<string, unknown>>;
  /** What the tool returns; default: nothing. */
  readonly result?: unknown;
  /** What the tool throws: an error, or its message. */
  readonly error?: unknown;
  /** How many calls this answers; default: 1. */
  readonly times?: number;
}

interface Line {
  readonly entry: ScriptedCall;
  used: number;
}

/** Plays results instead of running tools. A call that the script does not have is a failure, and in `unexpected`. */
export class ScriptedExecutor extends ToolExecutor {
  readonly #lines: readonly Line[];
  readonly #unexpected: ToolCall[];

  /** @internal Use `scriptedExecutor`. */
  constructor(script: readonly ScriptedCall[], options: ExecutorOptions) {
    const unexpected: ToolCall[] = [];
    const lines: readonly Line[] = script.map((entry) => ({ entry, used: 0 }));
    const run = (args: unknown, { call }: { readonly call: ToolCall }): unknown => {
      const line = lines.find((candidate) => isFor(candidate, call, args));
      if (line) return play(line);
      unexpected.push(call);
      throw new Error(`the script has no result for ${call.toolName}(${JSON.stringify(args)})`);
    };
    const find = (call: ToolCall) => {
      // It fails before it is run.
      if (!call.known) unexpected.push(call);
      return { check: undefined, run, lifespan: 'TURN' } as const;
    };
    super({ options, find });
    this.#lines = lines;
    this.#unexpected = unexpected;
  }

  /** The calls that the script does not have, in their order. */
  get unexpected(): readonly ToolCall[] {
    return this.#unexpected;
  }

  /** The entries that have not been used, or not so often as they say; `times` is what is left. */
  get unused(): readonly ScriptedCall[] {
    return this.#lines.flatMap(({ entry, used }) => {
      const { times = 1 } = entry;
      const isDone = used >= times || (times === Infinity && used > 0);
      return isDone ? [] : [{ ...entry, times: times - used }];
    });
  }
}

/**
 * Creates an executor for tests: each call gets the result of the first entry that fits and is not used up.
 * @throws Fault MALFORMED_MESSAGE for a misspelt member, or one of the wrong type.
 *
 * @example
 * const tools = scriptedExecutor([{ tool: 'get_weather', arguments: { city: 'Paris' }, result: 'rain' }]);
 * await agent.send('How is it in Paris?', { tools });
 * assert.deepEqual([tools.unexpected, tools.unused], [[], []]);
 */
export function scriptedExecutor(script: readonly ScriptedCall[], options: ExecutorOptions = {}): ScriptedExecutor {
  if (!Array.isArray(script)) throw wrongType('scriptedExecutor.script', 'a list', script);
  checkExecutorOptions(options);
  for (const [index, entry] of script.entries()) checkEntry(entry as ScriptedCall, `scriptedExecutor.script[${index}]`);
  return new ScriptedExecutor(script, options);
}

function checkEntry(entry: ScriptedCall, path: string): void {
  optionsCheck<ScriptedCall>(path, {
    tool: checks.string,
    arguments: checks.params,
    result: checks.field,
    error: checks.field,
    times: checks.count,
  })(entry);
  if (entry.tool === undefined) throw malformed(`${path}.tool is missing: give the name of a tool`);
  if (entry.error !== undefined && entry.result !== undefined)
    throw malformed(`${path} has result and error; give one of them`);
}

const isFor = ({ entry, used }: Line, call: ToolCall, args: unknown): boolean =>
  used < (entry.times ?? 1) &&
  entry.tool === call.toolName &&
  (entry.arguments === undefined || isSameJson(entry.arguments, args));

function play(line: Line): unknown {
  line.used++;
  const { error, result } = line.entry;
  if (error === undefined) return result;
  throw error;
}
