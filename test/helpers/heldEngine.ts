import type {
  Engine,
  GenerateOptions,
  LoadOptions,
  Sequence,
  SequenceOptions,
} from '../../src/inference/contract/engine.ts';
import type { Pace } from '../../src/inference/contract/pace.ts';
import type { Prompt } from '../../src/chat/dialog.ts';
import { mockEngine, type MockEngine } from '../../src/inference/mock/engine.ts';
import { readMockScript } from '../../src/inference/mock/script.ts';
import { scriptedRequest } from '../../src/inference/mock/script.ts';
import { untilAborted } from '../../src/base/abort.ts';
import type { Gate } from './gate.ts';

/** A delay that does not end within a test. */
export const oneDayMs = 86_400_000;

/** One line of a mock script. */
export interface ScriptLine {
  readonly match?: string;
  readonly node?: string;
  readonly nth?: number;
  readonly answer?: string;
  readonly scores?: Readonly<Record<string, number>>;
  readonly confidence?: number;
  readonly choices?: string;
  readonly delay_ms?: number;
  readonly chunk?: number;
  /** The answer waits at this gate. */
  readonly gate?: Gate | undefined;
  /** Pieces of the answer that are sent before it waits; default: 1. */
  readonly piecesBeforeGate?: number | undefined;
}

/** A mock engine whose generations wait at the gate of their script line. @param contextSize of its models; default: 8192. */
export function heldEngine(lines: readonly ScriptLine[], contextSize = 8192): MockEngine {
  const mockLines = lines.map((line) => ({ ...line, gate: undefined, piecesBeforeGate: undefined }));
  const script = readMockScript(JSON.stringify(mockLines), 'the script');
  const mock = mockEngine({ script, contextSize });
  const lineFor: LineFor = (prompt, options, label) => {
    const request = scriptedRequest(prompt, options, label);
    return lines[script.findIndex(({ reply, matches }) => reply && matches(request))];
  };
  const load = async (file: string, options: LoadOptions) => {
    const model = await mock.load(file, options);
    return override(model, {
      openSequence: (sequence: SequenceOptions) => holdSequence(model.openSequence(sequence), lineFor),
    });
  };
  return override(mock, { load });
}

/** An engine whose loads report progress 0 and then wait at a gate, or until their signal is aborted. */
export function holdLoads(engine: Engine, gate: Gate): Engine {
  const load = async (file: string, options: LoadOptions) => {
    options.onProgress?.(0);
    if (gate.closed) await untilAborted(gate.closed, options.signal ?? new AbortController().signal);
    return engine.load(file, options);
  };
  return override(engine, { load });
}

/** An engine whose models count tokens at a gate: their process is being started again, for example. */
export function holdCounts(engine: Engine, gate: Gate): Engine {
  const load = async (file: string, options: LoadOptions) => {
    const model = await engine.load(file, options);
    const count = async (texts: readonly string[]) => {
      await gate.closed;
      return model.count(texts);
    };
    return override(model, { count });
  };
  return override(engine, { load });
}

/** An engine that shows the paces of its generations, in the order in which these began. */
export function watchPaces(engine: Engine): { readonly engine: Engine; readonly paces: readonly Pace[] } {
  const paces: Pace[] = [];
  const load = async (file: string, options: LoadOptions) => {
    const model = await engine.load(file, options);
    const openSequence = (opening: SequenceOptions) => {
      const sequence = model.openSequence(opening);
      const generate = (prompt: Prompt, generation: GenerateOptions) => {
        if (generation.pace) paces.push(generation.pace);
        return sequence.generate(prompt, generation);
      };
      return override(sequence, { generate });
    };
    return override(model, { openSequence });
  };
  return { engine: override(engine, { load }), paces };
}

type LineFor = (prompt: Prompt, options: GenerateOptions, label: string) => ScriptLine | undefined;

function holdSequence(sequence: Sequence, lineFor: LineFor): Sequence {
  return override(sequence, {
    generate: (prompt: Prompt, options: GenerateOptions) =>
      sequence.generate(prompt, holdOptions(options, lineFor(prompt, options, sequence.label))),
  });
}

function holdOptions(
  options: GenerateOptions,
  { gate, piecesBeforeGate = 1 }: Partial<ScriptLine> = {},
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
    backpressure: () =>
      pieces >= piecesBeforeGate && gate.closed ? backpressure(gate.closed) : options.backpressure?.(),
  };
}

/** A proxy of `target` with some members replaced. */
/** An object with some members replaced; the others are bound to the object itself. */
export function override<T extends object>(target: T, replacements: Partial<T>): T {
  return new Proxy(target, {
    get(_, name) {
      if (name in replacements) return replacements[name as keyof T];
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
}
