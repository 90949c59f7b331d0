import { describeError } from '../../../fault.ts';
import { createReasoningSkipper } from '../../reasoning/reasoningSpans.ts';
import type { Tool, ToolCallFormat } from '../../tool.ts';
import type { SampleCall } from '../derive/samples.ts';
import { sortedJson } from '../derive/sortedJson.ts';
import type { ProbeVerdict } from '../toolDialect.ts';
import { acceptedCalls, acceptsCutCall, acceptsFromStart } from './acceptedCalls.ts';

/** What a template wrote for a probe. */
export interface WrittenProbe {
  readonly name: string;
  readonly required: boolean;
  /** Whether a template must write it: what another probe shows may be a limit of the template. */
  readonly isBasic: boolean;
  /** The calls that must be read; none: the text must have no call. */
  readonly calls: readonly SampleCall[];
  /** The tools that were declared. */
  readonly tools: readonly Tool[];
  /** Whether the calls start the message, so that a grammar of a required call must accept it. */
  readonly startsWithCall: boolean;
  /** The text that the template wrote; undefined: it refused. */
  readonly text: string | undefined;
  /** Why the template refused; "" where it did not. */
  readonly refusal: string;
}

/**
 * Proves a format: its reader must give the calls back that a template wrote, and its grammar must accept the text and
 * refuse it when it is cut off inside a call.
 */
export function prove(format: ToolCallFormat, probes: readonly WrittenProbe[]): readonly ProbeVerdict[] {
  return probes.map((probe) => {
    const why = failure(format, probe);
    return { name: probe.name, required: probe.required && !isTemplateLimit(probe), ok: why === '', why };
  });
}

/** Whether each required probe is ok. */
export const isProved = (verdicts: readonly ProbeVerdict[]): boolean =>
  verdicts.every(({ required, ok }) => ok || !required);

// What a template refuses to write, or leaves out, is a limit of the template and not of the reader.
const isTemplateLimit = ({ calls, text, isBasic }: WrittenProbe): boolean =>
  !isBasic && (text === undefined || calls.some(({ name }) => !text.includes(name)));

function failure(format: ToolCallFormat, probe: WrittenProbe): string {
  const { text, refusal } = probe;
  if (text === undefined) return `the template refuses it: ${refusal}`;
  if (isTemplateLimit(probe)) return 'the template does not write each call';
  try {
    return readFailure(format, text, probe) || grammarFailure(format, text, probe);
  } catch (error) {
    return describeError(error);
  }
}

function readFailure(format: ToolCallFormat, text: string, { calls, tools }: WrittenProbe): string {
  const detection = format.detect(text, { tools });
  const read = detection.calls.map(({ name, arguments: args }) => `${name} ${sortedJson(args)}`);
  const wanted = calls.map(({ name, arguments: args }) => `${name} ${sortedJson(args)}`);
  if (detection.truncated) return `is read as cut off: ${JSON.stringify(text)}`;
  if (read.join('\n') === wanted.join('\n')) return '';
  return `is read as ${read.length === 0 ? 'no call' : read.join(' and ')}: ${JSON.stringify(text)}`;
}

function grammarFailure(format: ToolCallFormat, text: string, { calls, tools, startsWithCall }: WrittenProbe): string {
  if (!format.grammar || calls.length === 0) return '';
  const accepted = acceptedCalls(text, format.grammar(tools, { kind: 'auto' }));
  const covered = accepted?.map(({ start, end }) => text.slice(start, end)).join('') ?? '';
  const [first] = accepted ?? [];
  if (!first || calls.some(({ name }) => !covered.includes(name)))
    return `is refused by the grammar: ${JSON.stringify(text)}`;
  const [, second] = calls;
  // Of two calls in one constrained part only the first one's name is surely inside a call.
  const firstEnd = second && accepted?.length === 1 ? text.indexOf(calls[0]?.name ?? '') : first.end;
  if (acceptsCutCall(text, first, firstEnd))
    return `is accepted by the grammar when it is cut off: ${JSON.stringify(text)}`;
  if (second || !startsWithCall) return '';
  const call = text.slice(visibleStart(text));
  return acceptsFromStart(call, format.grammar(tools, { kind: 'required' }))
    ? ''
    : `is refused by the grammar of a required call: ${JSON.stringify(call)}`;
}

/** Index of the first character that is neither white space nor reasoning. */
function visibleStart(text: string): number {
  const skipReasoning = createReasoningSkipper(text);
  for (let start = 0; ;) {
    const next = skipReasoning(start + (/^\s*/.exec(text.slice(start))?.[0].length ?? 0));
    if (next === start) return start;
    start = next;
  }
}
