import type { Refusal } from '../../schema.ts';
import type { CallKeys } from '../detect/callShape.ts';
import type { Tool } from '../tool.ts';
import type { CallGrammar, Opening, ToolChoice } from '../grammar/grammar.ts';
import { all, any, tag, text, type ManyRule, type Rule } from '../grammar/rule.ts';
import { schemaRule } from '../grammar/jsonSchema/fromSchema.ts';

/** How a format writes calls. */
export interface CallForm {
  readonly keys: CallKeys;
  /** The tag that announces calls; none: they stand bare. */
  readonly tag?: string;
  /** What follows the tag, up to the end of the calls; limits say how many there may be. */
  within?(call: Rule, limits: Pick<ManyRule, 'least' | 'most'>): Rule;
}

/** Tools whose parameters a grammar cannot express. */
export class ToolsRefused extends Error {
  readonly refusals: readonly ToolRefusal[];

  constructor(refusals: readonly ToolRefusal[]) {
    super(refusals.map(({ tool, pointer, message }) => `the tool "${tool}": ${pointer} ${message}`).join('; '));
    this.refusals = refusals;
  }
}

/** What a grammar cannot express of a tool; the pointer is into its parameters. */
export interface ToolRefusal extends Refusal {
  readonly tool: string;
}

/** The rules for the arguments of tools, by their names. @throws ToolsRefused */
export function argumentRules(tools: readonly Tool[]): ReadonlyMap<string, Rule> {
  const refusals: ToolRefusal[] = [];
  const rules = new Map<string, Rule>();
  for (const { name, parameters } of tools) {
    // Arguments that are not declared are none, so a tool without parameters is called without.
    const rule = schemaRule({ properties: {}, ...parameters });
    if (rule.ok) rules.set(name, rule.value);
    else refusals.push(...rule.refusals.map((refusal) => ({ ...refusal, tool: name })));
  }
  if (refusals.length > 0) throw new ToolsRefused(refusals);
  return rules;
}

/** The grammar for calls in a form. @throws ToolsRefused */
export function callGrammar(tools: readonly Tool[], choice: ToolChoice, form: CallForm): CallGrammar {
  const wanted = choice.kind === 'tool' ? tools.filter(({ name }) => name === choice.name) : tools;
  const call = any(...[...argumentRules(wanted)].map(([name, args]) => callRule(name, args, form.keys)));
  if (choice.kind !== 'auto') return { kind: 'whole', rule: tagged(call, form, { least: 1, most: 1 }), budget };
  const bare: Opening = { opens: '{', where: 'first', rule: call };
  const { tag: name } = form;
  if (name === undefined) return { kind: 'calls', openings: [bare], budget };
  const opening: Opening = { opens: name, where: 'anywhere', rule: tagged(call, form, { least: 1 }) };
  return { kind: 'calls', openings: [opening, bare], budget };
}

// Enough for a call with a letter in it; what does not end by then hardly ever does.
const budget = 1024;

const tagged = (call: Rule, { tag: name, within }: CallForm, limits: Pick<ManyRule, 'least' | 'most'>): Rule =>
  name === undefined ? call : all(tag(name), within?.(call, limits) ?? call);

const callRule = (name: string, args: Rule, keys: CallKeys): Rule =>
  all(
    text(`{${JSON.stringify(keys.name)}: ${JSON.stringify(name)}, ${JSON.stringify(keys.arguments)}: `),
    args,
    text('}'),
  );
