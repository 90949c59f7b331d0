import type { Engine, GenerateOptions, LoadOptions, Sequence } from '../../src/engine/engine.ts';
import type { Prompt } from '../../src/dialog.ts';
import { mockEngine, readMockScript } from '../../src/engine/mock/engine.ts';
import { untilAborted } from '../../src/abort.ts';
import type { Gate } from './gate.ts';

/** Milliseconds before the first word of an answer that nobody waits for. */
export const oneDayMs = 86_400_000;

/** One line of a mock script. */
export interface ScriptLine {
  readonly match: string;
  readonly answer: string;
  readonly delay_ms?: number;
  readonly chunk?: number;
  /** Where the answer waits. */
  readonly gate?: Gate | undefined;
  /** Pieces of the answer that come before it waits; default: 1. */
  readonly piecesBeforeGate?: number | undefined;
}

/** A mock engine whose answers wait at the gates of their lines. */
export function heldEngine(lines: readonly ScriptLine[]): Engine {
  const plain = lines.map(({ gate: _, piecesBeforeGate: __, ...line }) => line);
  const mock = mockEngine({ script: readMockScript(JSON.stringify(plain), 'the script') });
  const lineFor = ({ messages }: Prompt): ScriptLine | undefined => {
    const message = messages.findLast(({ role }) => role === 'user')?.text ?? '';
    return lines.find(({ match }) => new RegExp(match).test(message));
  };
  const load = async (file: string, options: LoadOptions) => {
    const model = await mock.load(file, options);
    return override(model, { openSequence: () => holdSequence(model.openSequence(), lineFor) });
  };
  return override(mock, { load });
}

/** An engine whose loads say that they have begun, and then wait at a gate as long as their signal lets them. */
export function holdLoads(engine: Engine, gate: Gate): Engine {
  const load = async (file: string, options: LoadOptions) => {
    options.onProgress?.(0);
    if (gate.closed) await untilAborted(gate.closed, options.signal ?? new AbortController().signal);
    return engine.load(file, options);
  };
  return override(engine, { load });
}

function holdSequence(sequence: Sequence, lineFor: (prompt: Prompt) => ScriptLine | undefined): Sequence {
  return override(sequence, {
    generate: (prompt: Prompt, options: GenerateOptions) =>
      sequence.generate(prompt, holdOptions(options, lineFor(prompt))),
  });
}

function holdOptions(
  options: GenerateOptions,
  { gate, piecesBeforeGate: ahead = 1 }: Partial<ScriptLine> = {},
): GenerateOptions {
  if (!gate) return options;
  let pieces = 0;
  const onText = (piece: string): void => {
    pieces++;
    options.onText?.(piece);
  };
  const backpressure = async (wait: Promise<void>): Promise<void> => {
    await wait;
    await options.backpressure?.();
  };
  return {
    ...options,
    onText,
    backpressure: () => (pieces >= ahead && gate.closed ? backpressure(gate.closed) : options.backpressure?.()),
  };
}

/** An object whose methods are those of another but for some. */
function override<T extends object>(target: T, others: Partial<T>): T {
  return new Proxy(target, {
    get(_, name) {
      if (name in others) return others[name as keyof T];
      const own: unknown = Reflect.get(target, name, target);
      return typeof own === 'function' ? (own.bind(target) as unknown) : own;
    },
  });
}
