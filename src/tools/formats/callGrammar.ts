import type { SchemaError } from '../../schema.ts';
import type { CallKeys } from '../detect/callShape.ts';
import type { Tool } from '../tool.ts';
import type { CallGrammar, Trigger, ToolChoice } from '../grammar/grammar.ts';
import { all, any, tag, text, type ManyRule, type Rule } from '../grammar/rule.ts';
import { ruleFromSchema } from '../grammar/jsonSchema/fromSchema.ts';

/** How a format writes calls. */
export interface CallForm {
  readonly keys: CallKeys;
  /** The tag that announces calls; none: they stand bare. */
  readonly tag?: string;
  /** What follows the tag, up to the end of the calls; limits say how many there may be. */
  wrap?(call: Rule, limits: Pick<ManyRule, 'min' | 'max'>): Rule;
}

/** Tools whose parameters a grammar cannot express. */
export class UnsupportedToolSchema extends Error {
  readonly errors: readonly ToolSchemaError[];

  constructor(errors: readonly ToolSchemaError[]) {
    super(errors.map(({ tool, pointer, message }) => `the tool "${tool}": ${pointer} ${message}`).join('; '));
    this.errors = errors;
  }
}

/** What a grammar cannot express of a tool; the pointer is into its parameters. */
export interface ToolSchemaError extends SchemaError {
  readonly tool: string;
}

/** The rules for the arguments of tools, by their names. @throws ToolsRefused */
export function createArgumentRules(tools: readonly Tool[]): ReadonlyMap<string, Rule> {
  const errors: ToolSchemaError[] = [];
  const rules = new Map<string, Rule>();
  for (const { name, parameters } of tools) {
    // Arguments that are not declared are none, so a tool without parameters is called without.
    const rule = ruleFromSchema({ properties: {}, ...parameters });
    if (rule.ok) rules.set(name, rule.value);
    else errors.push(...rule.errors.map((refusal) => ({ ...refusal, tool: name })));
  }
  if (errors.length > 0) throw new UnsupportedToolSchema(errors);
  return rules;
}

/** The grammar for calls in a form. @throws ToolsRefused */
export function callGrammar(tools: readonly Tool[], choice: ToolChoice, form: CallForm): CallGrammar {
  const wanted = choice.kind === 'tool' ? tools.filter(({ name }) => name === choice.name) : tools;
  const call = any(...[...createArgumentRules(wanted)].map(([name, args]) => callRule(name, args, form.keys)));
  if (choice.kind !== 'auto')
    return { kind: 'full', rule: taggedTrigger(call, form, { min: 1, max: 1 }), budget: defaultTokenBudget };
  const bare: Trigger = { text: '{', where: 'first', rule: call };
  const { tag: name } = form;
  if (name === undefined) return { kind: 'lazy', triggers: [bare], budget: defaultTokenBudget };
  const trigger: Trigger = { text: name, where: 'anywhere', rule: taggedTrigger(call, form, { min: 1 }) };
  return { kind: 'lazy', triggers: [trigger, bare], budget: defaultTokenBudget };
}

// Enough for a call with a letter in it; what does not end by then hardly ever does.
const defaultTokenBudget = 1024;

const taggedTrigger = (
  call: Rule,
  { tag: name, wrap: within }: CallForm,
  limits: Pick<ManyRule, 'min' | 'max'>,
): Rule => (name === undefined ? call : all(tag(name), within?.(call, limits) ?? call));

const callRule = (name: string, args: Rule, keys: CallKeys): Rule =>
  all(
    text(`{${JSON.stringify(keys.name)}: ${JSON.stringify(name)}, ${JSON.stringify(keys.arguments)}: `),
    args,
    text('}'),
  );
