import { InvalidParams } from '../graph/node.ts';
import { escapePointerToken } from '../jsonPointer.ts';
import { didYouMean } from '../didYouMean.ts';
import { createArgumentRules, UnsupportedToolSchema } from '../tools/formats/callGrammar.ts';
import type { CallGrammar, ToolChoice } from '../tools/grammar/grammar.ts';
import type { Rule } from '../tools/grammar/rule.ts';
import { fits } from '../tools/grammar/matcher.ts';
import type { DetectedCall, Tool, ToolCallFormat } from '../tools/tool.ts';
import { stringifyJson } from '../tools/json/value.ts';

const kinds = ['auto', 'required', 'none'] as const;

/** Parameters that say which calls are wanted, and what holds them to the tools. */
export const toolChoiceParams = {
  tool_choice: {
    type: 'string',
    default: 'auto',
    live: true,
    description:
      'auto: the model decides; required: it has to call a tool; none: no tool is offered; or the name of the tool that it has to call.',
  },
  strict: {
    type: 'boolean',
    default: false,
    live: true,
    description: 'Holds calls to the declared tools and parameters while they are written.',
  },
} as const;

/** Which calls are wanted, and what their arguments have to be. */
export interface CallConstraint {
  readonly choice: ToolChoice | undefined;
  /** The arguments of each tool; undefined: the model is not bound. */
  readonly rules: ReadonlyMap<string, Rule> | undefined;
}

/** What parameters say about calls. @throws ParamsRefused for a tool that is not there, or that no grammar can express. */
export function resolveToolChoice(
  { tool_choice, strict }: { readonly tool_choice: string; readonly strict: boolean },
  tools: ReadonlyMap<string, Tool>,
): CallConstraint {
  const choice = choiceOf(tool_choice, tools);
  if (!choice || (choice.kind === 'auto' && !strict)) return { choice, rules: undefined };
  const bound = [...tools.values()].filter(({ name }) => choice.kind !== 'tool' || name === choice.name);
  try {
    return { choice, rules: createArgumentRules(bound) };
  } catch (error) {
    if (!(error instanceof UnsupportedToolSchema)) throw error;
    throw invalidTools(error, tools);
  }
}

/** The grammar of a binding. @throws ParamsRefused when the format has none. */
export function createCallGrammar(
  { choice, rules }: CallConstraint,
  tools: ReadonlyMap<string, Tool>,
  format: ToolCallFormat,
): CallGrammar | undefined {
  if (!choice || !rules) return undefined;
  if (format.grammar) return format.grammar([...tools.values()], choice);
  const pointer = choice.kind === 'auto' ? '/strict' : '/tool_choice';
  const message = `needs a tool-call format with a grammar, and ${format.name} has none`;
  throw new InvalidParams([{ pointer, message }]);
}

/** Whether a call is one that a binding allows: what was written freely may look like one, too. */
export function isAllowed({ name, arguments: args }: DetectedCall, { rules }: CallConstraint): boolean {
  const rule = rules?.get(name);
  return !rules || (rule !== undefined && fits(stringifyJson(args), rule));
}

function choiceOf(wanted: string, tools: ReadonlyMap<string, Tool>): ToolChoice | undefined {
  if (wanted === 'none') return undefined;
  if (wanted === 'auto' || wanted === 'required') return { kind: wanted };
  if (tools.has(wanted)) return { kind: 'tool', name: wanted };
  const hint = didYouMean(wanted, [...kinds, ...tools.keys()]);
  const message = `must be ${kinds.join(', ')} or the name of one of the tools, not "${wanted}"${hint}`;
  throw new InvalidParams([{ pointer: '/tool_choice', message }]);
}

function invalidTools({ errors }: UnsupportedToolSchema, tools: ReadonlyMap<string, Tool>): InvalidParams {
  const names = [...tools.keys()];
  return new InvalidParams(
    errors.map(({ tool, pointer, message }) => ({
      pointer: `/tools/${names.indexOf(tool)}/parameters${declaredPointer(pointer, tools.get(tool))}`,
      message: `${message}; the tool "${tool}" cannot be strict with it`,
    })),
  );
}

// Parameters that were declared as a list stand in it by their index.
function declaredPointer(pointer: string, tool: Tool | undefined): string {
  const names = [...(tool?.notes.keys() ?? [])];
  const index = names.findIndex((name) => `${pointer}/`.startsWith(`/properties${escapePointerToken(name)}/`));
  return index < 0
    ? pointer
    : `/${index}${pointer.slice(`/properties${escapePointerToken(names[index] ?? '')}`.length)}`;
}
