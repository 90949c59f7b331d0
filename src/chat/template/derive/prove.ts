import { memoized } from '../../../base/memoized.ts';
import type { CallGrammar, Rule, Trigger } from '../../grammar/rule.ts';
import { GrammarMatcher } from '../../grammar/matcher.ts';
import type { TextRange } from '../../markSearch.ts';
import { findTrigger } from '../../triggers.ts';
import { defaultReplyMarks, type ReplyMarks } from '../../replyMarks.ts';
import { lexemes, marksIn, type ProbeVerdict } from '../../dialect/layout.ts';
import { describeError } from '../../../protocol/fault.ts';
import type { Tool, ToolCallFormat } from '../../tool.ts';
import { isBasic, type ToolProbe } from './probes.ts';
import { sortedJson } from './texts.ts';
import { createReasoningSkipper, visibleStart } from '../../reply/reasoning/splitReply.ts';

export interface WrittenProbe {
  readonly probe: ToolProbe;
  /** The text that the template wrote; undefined: it refused. */
  readonly text: string | undefined;
  /** Why the template refused; "" where it did not. */
  readonly refusal: string;
}

/** Proves a format: its reader gives back the calls of a template, its grammar accepts its text, but no cut call. */
export class FormatProof {
  readonly #format: ToolCallFormat;
  readonly #probes: readonly WrittenProbe[];
  readonly #marks: ReplyMarks;
  /** Compiled once for a list of tools: several probes declare the same. */
  readonly #autoGrammar = memoized((tools: readonly Tool[]) => this.#format.grammar?.(tools, { kind: 'auto' }));
  readonly #requiredGrammar = memoized((tools: readonly Tool[]) => this.#format.grammar?.(tools, { kind: 'required' }));

  /** @param marks of the model's replies: what they mark as reasoning is no call. */
  constructor(format: ToolCallFormat, probes: readonly WrittenProbe[], marks: ReplyMarks = defaultReplyMarks) {
    this.#format = format;
    this.#probes = probes;
    this.#marks = marks;
  }

  verdicts(): readonly ProbeVerdict[] {
    return this.#probes.map((written) => {
      const why = this.#failure(written);
      return { name: written.probe.name, required: isRequired(written), ok: why === '', why };
    });
  }

  /** Whether the format passes each required probe; stops at the first that fails. */
  holds(): boolean {
    return this.#probes.every((written) => !isRequired(written) || this.#failure(written) === '');
  }

  /** Why a probe fails; "" = it does not. */
  #failure(written: WrittenProbe): string {
    const { probe, text, refusal } = written;
    if (text === undefined) return `the template refuses it: ${refusal}`;
    if (isTemplateLimit(written)) return 'the template does not write each call';
    try {
      return this.#readFailure(text, probe) || this.#grammarFailure(text, probe);
    } catch (error) {
      return describeError(error);
    }
  }

  #readFailure(text: string, { calls, tools }: ToolProbe): string {
    const detection = this.#format.detect(text, { tools, marks: this.#marks });
    const read = detection.calls.map(({ name, arguments: args }) => `${name} ${sortedJson(args)}`);
    const wanted = calls.map(({ name, arguments: args }) => `${name} ${sortedJson(args)}`);
    if (detection.truncated) return `is read as cut off: ${quoted(text)}`;
    if (read.join('\n') === wanted.join('\n')) return '';
    return `is read as ${read.length === 0 ? 'no call' : read.join(' and ')}: ${quoted(text)}`;
  }

  #grammarFailure(text: string, { calls, tools, text: preceding, reasoning }: ToolProbe): string {
    const grammar = calls.length > 0 && this.#autoGrammar(tools);
    if (!grammar) return '';
    const accepted = acceptedCalls(text, grammar, this.#marks);
    const covered = accepted?.map(({ start, end }) => text.slice(start, end)).join('') ?? '';
    const [first, next] = accepted ?? [];
    if (!first || calls.some(({ name }) => !covered.includes(name)))
      return `is refused by the grammar: ${quoted(text)}`;
    const gap = text.slice(first.end, next?.start ?? first.end);
    if (marksIn(gap).length > 0) return `has a mark between calls that the grammar leaves out: ${JSON.stringify(gap)}`;
    const [, second] = calls;
    // Of two calls in one constrained part only the first one's name is surely inside a call.
    const firstEnd = second && accepted?.length === 1 ? text.indexOf(calls[0]?.name ?? '') : first.end;
    if (acceptsCutCall(text, first, firstEnd)) return `is accepted by the grammar when it is cut off: ${quoted(text)}`;
    // A grammar of a required call accepts no text before it.
    if (second || preceding !== undefined || reasoning !== undefined) return '';
    const required = this.#requiredGrammar(tools);
    const call = text.slice(visibleStart(text, 0, createReasoningSkipper(text, this.#marks)));
    if (required && !acceptsFromStart(call, required))
      return `is refused by the grammar of a required call: ${quoted(call)}`;
    const unclosed = openMark(text, first.end);
    if (unclosed !== undefined) return `has a mark that the grammar leaves open: ${JSON.stringify(unclosed)}`;
    const { residual } = this.#format.detect(call, { tools, marks: this.#marks });
    return text.slice(first.end).includes(residual)
      ? ''
      : `leaves a part of a call in the text: ${JSON.stringify(residual)}`;
  }
}

const maxQuoted = 300;

/** A text in quotes, cut off where it is long: some templates add instructions after each message. */
const quoted = (text: string): string =>
  text.length <= maxQuoted ? JSON.stringify(text) : `${JSON.stringify(text.slice(0, maxQuoted))} ...`;

// What a template refuses to write, or leaves out, is a limit of the template and not of the reader.
const isTemplateLimit = ({ probe, text }: WrittenProbe): boolean =>
  !isBasic(probe) && (text === undefined || probe.calls.some(({ name }) => !text.includes(name)));

const isRequired = (written: WrittenProbe): boolean => written.probe.required && !isTemplateLimit(written);

/** A mark such as `<calls>` before an index that a mark such as `</calls>` after it closes; undefined: there is none. */
function openMark(text: string, index: number): string | undefined {
  const after = marksIn(text.slice(index));
  const closed = new Set(after.map((mark) => mark.replace('/', '')));
  return marksIn(text.slice(0, index)).find((mark) => !after.includes(mark) && closed.has(mark));
}

/** A range of a text that matches a grammar; `end` is exclusive. */
interface AcceptedText extends TextRange {
  readonly rule: Rule;
}

/** The parts of a text that a lazy grammar constrains and accepts to their end; undefined: it does not accept one. */
export function acceptedCalls(
  text: string,
  grammar: CallGrammar,
  marks: ReplyMarks,
): readonly AcceptedText[] | undefined {
  if (grammar.kind === 'full') return undefined;
  const accepted: AcceptedText[] = [];
  let from = 0;
  for (;;) {
    const match = findTrigger(text, grammar.triggers, { start: from, searchedTo: from }, marks);
    if (!match) return accepted;
    const start = match.end - match.trigger.text.length;
    const end = longestMatch(text, start, match.trigger);
    if (end === undefined) return undefined;
    accepted.push({ start, end, rule: match.trigger.rule });
    from = end;
  }
}

/** The index after the longest text from an index on that matches the rule of a trigger to its end. */
function longestMatch(text: string, start: number, { rule }: Pick<Trigger, 'rule'>): number | undefined {
  const rest = text.slice(start);
  const whole = GrammarMatcher.start(rule).accept(rest);
  if (whole.matcher.canEnd) return start + whole.length;
  // The grammar went on with what follows its end: the end is somewhere before.
  return [...endings(lexemes(rest), start, rule)].findLast(({ canEnd }) => canEnd)?.index;
}

/** Whether a text could end after each of its pieces, up to the first piece that does not match. */
function* endings(pieces: readonly string[], start: number, rule: Rule): Generator<{ index: number; canEnd: boolean }> {
  let matcher = GrammarMatcher.start(rule);
  let index = start;
  for (const piece of pieces) {
    const accepted = matcher.accept(piece);
    if (accepted.length < piece.length) return;
    matcher = accepted.matcher;
    index += piece.length;
    yield { index, canEnd: matcher.canEnd };
  }
}

/** Whether a text that is cut off inside its first call could be complete for the rule; it is cut after each lexeme. */
function acceptsCutCall(text: string, { start, end, rule }: AcceptedText, callEnd: number): boolean {
  const last = Math.min(end, callEnd);
  return [...endings(lexemes(text.slice(start, last)), start, rule)].some(
    ({ index, canEnd }) => canEnd && index < last,
  );
}

/** Whether a full grammar accepts a text from its start on, perhaps with other text after it. */
const acceptsFromStart = (text: string, grammar: CallGrammar): boolean =>
  grammar.kind === 'full' && longestMatch(text, 0, grammar) !== undefined;
