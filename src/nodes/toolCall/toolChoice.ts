import { setImmediate } from 'node:timers/promises';
import { InvalidParams } from '../../graph/node.ts';
import { didYouMean } from '../../didYouMean.ts';
import { declaredPointer } from '../../tools/declaration/declaredPointer.ts';
import { createArgumentRules, UnsupportedToolSchema } from '../../tools/formats/callGrammar.ts';
import type { CallGrammar, ToolChoice } from '../../tools/grammar/grammar.ts';
import type { Rule } from '../../tools/grammar/rule.ts';
import { GrammarMatcher } from '../../tools/grammar/matcher.ts';
import type { DetectedCall, Tool, ToolCallFormat } from '../../tools/tool.ts';
import { stringifyJson } from '../../tools/json/value.ts';

const kinds = ['auto', 'required', 'none'] as const;

/** Parameters that choose the calls a model may make (OpenAI's `tool_choice` and `strict`). */
export const toolChoiceParams = {
  tool_choice: {
    type: 'string',
    default: 'auto',
    live: true,
    description:
      'auto: the model decides; required: it has to call a tool; none: it is offered no tool; or the name of the tool that it has to call.',
  },
  strict: {
    type: 'boolean',
    default: false,
    live: true,
    description: 'Constrained decoding: calls always match the declared tools and parameters.',
  },
} as const;

/** A tool choice with the rules of its tools' arguments. It needs no model, so that errors precede the loading of one. */
export interface ResolvedToolChoice {
  /** undefined: `none`. */
  readonly choice: ToolChoice | undefined;
  /** Grammar rule of the arguments of each tool that may be called; undefined: calls are unconstrained. */
  readonly rules: ReadonlyMap<string, Rule> | undefined;
}

/** Constrained decoding of tool calls: the compiled grammar, and the rules that detected calls are checked with. */
export interface CallConstraint extends ResolvedToolChoice {
  /** undefined: decoding is unconstrained. */
  readonly grammar: CallGrammar | undefined;
}

/**
 * Reads `tool_choice` and `strict`.
 * @throws InvalidParams for a tool that does not exist, or whose parameters no grammar can express.
 */
export function resolveToolChoice(
  { tool_choice, strict }: { readonly tool_choice: string; readonly strict: boolean },
  tools: ReadonlyMap<string, Tool>,
): ResolvedToolChoice {
  const choice = parseChoice(tool_choice, tools);
  if (!choice || (choice.kind === 'auto' && !strict)) return { choice, rules: undefined };
  const callable = [...tools.values()].filter(({ name }) => choice.kind !== 'tool' || name === choice.name);
  try {
    return { choice, rules: createArgumentRules(callable) };
  } catch (error) {
    if (!(error instanceof UnsupportedToolSchema)) throw error;
    throw invalidTools(error, tools);
  }
}

/** Compiles the grammar of a tool choice. @throws InvalidParams when calls are constrained and the format has no grammar. */
export function createCallConstraint(
  { choice, rules }: ResolvedToolChoice,
  tools: ReadonlyMap<string, Tool>,
  format: ToolCallFormat,
): CallConstraint {
  if (!choice || !rules) return { choice, rules, grammar: undefined };
  if (format.grammar) return { choice, rules, grammar: format.grammar([...tools.values()], choice) };
  const pointer = choice.kind === 'auto' ? '/strict' : '/tool_choice';
  const message = `needs a tool-call format with a grammar, and ${format.name} has none`;
  throw new InvalidParams([{ pointer, message }]);
}

/**
 * Whether a detected call satisfies a constraint. A lazy grammar also leaves text unconstrained that looks like a call.
 * A long call is matched in pieces, so that it does not hold the event loop.
 */
export async function isAllowed({ name, arguments: args }: DetectedCall, { rules }: CallConstraint): Promise<boolean> {
  if (!rules) return true;
  const rule = rules.get(name);
  if (!rule) return false;
  let matcher = GrammarMatcher.start(rule);
  const text = stringifyJson(args);
  for (const [piece] of text.matchAll(piecePattern)) {
    const accepted = matcher.accept(piece);
    if (accepted.length < piece.length) return false;
    matcher = accepted.matcher;
    if (piece.length < text.length) await setImmediate();
  }
  return matcher.canEnd;
}

const piecePattern = /[^]{1,64}/gu;

function parseChoice(value: string, tools: ReadonlyMap<string, Tool>): ToolChoice | undefined {
  if (value === 'none') return undefined;
  if (value === 'auto' || value === 'required') return { kind: value };
  if (tools.has(value)) return { kind: 'tool', name: value };
  const hint = didYouMean(value, [...kinds, ...tools.keys()]);
  const message = `must be ${kinds.join(', ')} or the name of one of the tools, not "${value}"${hint}`;
  throw new InvalidParams([{ pointer: '/tool_choice', message }]);
}

function invalidTools({ errors }: UnsupportedToolSchema, tools: ReadonlyMap<string, Tool>): InvalidParams {
  const names = [...tools.keys()];
  return new InvalidParams(
    errors.map(({ tool: name, pointer, message }) => {
      const tool = tools.get(name);
      return {
        pointer: `/tools/${names.indexOf(name)}${tool ? declaredPointer(pointer, tool) : ''}`,
        message: `${message}; the tool "${name}" cannot be strict with it`,
      };
    }),
  );
}
