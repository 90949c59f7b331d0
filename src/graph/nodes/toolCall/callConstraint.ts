import { setImmediate } from 'node:timers/promises';
import { InvalidParams } from '../../compile/node.ts';
import { declaredPointer } from '../../../chat/tools/declaration/enumSource.ts';
import { createArgumentRules, UnsupportedToolSchema } from '../../../chat/formats/callGrammar.ts';
import { type CallGrammar, type ToolChoice, type Trigger, anyOf, type Rule } from '../../../chat/grammar/rule.ts';
import { GrammarMatcher } from '../../../chat/grammar/matcher.ts';
import { stringifyJson } from '../../../chat/json/value.ts';
import type { DetectedCall, Tool, ToolCallFormat } from '../../../chat/tool.ts';

/** Constrained decoding of tool calls: the compiled grammar, and the rules that detected calls are checked with. */
export interface CallConstraint {
  /** Grammar rule of the arguments of each tool that may be called; undefined: calls are unconstrained. */
  readonly rules: ReadonlyMap<string, Rule> | undefined;
  /** undefined: decoding is unconstrained. */
  readonly grammar: CallGrammar | undefined;
  /** What a reply without a call has to match; undefined: it is free. */
  readonly answer: Rule | undefined;
}

/** A choice that leaves calls to the model, and whether they are constrained. */
export interface ConstraintOptions {
  readonly choice: ToolChoice;
  /** Whether calls are constrained; they are where answers are. */
  readonly strict: boolean;
  /** Largest number of tokens of the constrained part of a reply. */
  readonly maxTokensPerCall: number;
  /** What a reply without a call has to match; undefined: it is free. */
  readonly answer?: Rule | undefined;
}

const unconstrained: CallConstraint = { rules: undefined, grammar: undefined, answer: undefined };

/** Whether calls have to match a grammar. */
export const isConstrained = ({ choice, strict }: Pick<ConstraintOptions, 'choice' | 'strict'>): boolean =>
  strict || choice.kind !== 'auto';

/**
 * The grammar rules of the tools that may be called; undefined: calls are unconstrained. They need no model.
 * @throws UnsupportedToolSchema
 */
export function constrainArguments(
  tools: readonly Tool[],
  { choice, strict }: Pick<ConstraintOptions, 'choice' | 'strict'>,
): ReadonlyMap<string, Rule> | undefined {
  if (!isConstrained({ choice, strict })) return undefined;
  return createArgumentRules(choice.kind === 'tool' ? tools.filter(({ name }) => name === choice.name) : tools);
}

/**
 * Compiles the grammar of the calls of some tools.
 * @throws UnsupportedToolSchema; InvalidParams when calls are constrained and the format has no grammar.
 */
export function constrainCalls(
  tools: readonly Tool[],
  options: ConstraintOptions,
  format: ToolCallFormat,
): CallConstraint {
  const rules = constrainArguments(tools, options);
  if (!rules) return unconstrained;
  const { choice, answer, maxTokensPerCall: budget } = options;
  if (!format.grammar) {
    const message = `needs a tool-call format with a grammar, and ${format.name} has none`;
    throw new InvalidParams([{ pointer: constraintPointer(options), message }]);
  }
  const grammar = { ...format.grammar(tools, choice), budget };
  if (answer === undefined || grammar.kind === 'full') return { rules, grammar, answer: undefined };
  return { rules, grammar: { ...grammar, triggers: triggersWithAnswer(grammar.triggers, answer) }, answer };
}

/** The parameter for which text has to match a grammar. */
export const constraintPointer = ({ answer, choice }: ConstraintOptions): string =>
  answer ? '/response_schema' : choice.kind === 'auto' ? '/strict' : '/tool_choice';

/** Triggers of calls where an answer may begin with the brace that begins a call without a mark. */
function triggersWithAnswer(triggers: readonly Trigger[], answer: Rule): readonly Trigger[] {
  const marked = triggers.filter(({ text }) => text !== '{');
  return marked.length > 0 ? marked : triggers.map((trigger) => ({ ...trigger, rule: anyOf([trigger.rule, answer]) }));
}

/** Whether a detected call satisfies a constraint. A lazy grammar also leaves text unconstrained that looks like a call. */
export async function isAllowed({ name, arguments: args }: DetectedCall, { rules }: CallConstraint): Promise<boolean> {
  if (!rules) return true;
  const rule = rules.get(name);
  return rule !== undefined && isMatch(stringifyJson(args), rule);
}

/** Whether a whole text matches a rule. A long one is matched in pieces, so that it does not hold the event loop. */
export async function isMatch(text: string, rule: Rule): Promise<boolean> {
  let matcher = GrammarMatcher.start(rule);
  for (const [piece] of text.matchAll(piecePattern)) {
    const accepted = matcher.accept(piece);
    if (accepted.length < piece.length) return false;
    matcher = accepted.matcher;
    if (piece.length < text.length) await setImmediate();
  }
  return matcher.canEnd;
}

const piecePattern = /[^]{1,64}/gu;

/** Converts what a grammar cannot express to errors of the parameter `tools`; returns other errors as they are. */
export function toolsError(error: unknown, tools: ReadonlyMap<string, Tool>): unknown {
  if (!(error instanceof UnsupportedToolSchema)) return error;
  const names = [...tools.keys()];
  return new InvalidParams(
    error.errors.map(({ tool: name, pointer, message }) => {
      const tool = tools.get(name);
      return {
        pointer: `/tools/${names.indexOf(name)}${tool ? declaredPointer(pointer, tool) : ''}`,
        message: `${message}; the tool "${name}" cannot be strict with it`,
      };
    }),
  );
}
