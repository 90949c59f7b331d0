import { memoized } from '../../base/memoized.ts';
import type { ReadResult, SchemaError } from '../../protocol/schema.ts';
import type { Tool } from '../tool.ts';
import type { CallGrammar, Trigger, ToolChoice, ManyRule, Rule } from '../grammar/rule.ts';
import { all, anyOf, tag, text } from '../grammar/rule.ts';
import { GrammarSize, sizeProblem } from '../grammar/size.ts';
import { ruleFromSchema } from '../grammar/jsonSchema/fromSchema.ts';

/** How a format writes calls: what its grammar is made of. */
export interface CallForm {
  readonly keys: { readonly name: string; readonly arguments: string };
  /** The rule for what follows the arguments inside the object; absent: nothing. */
  readonly id?: Rule;
  /** The tag before the calls; absent: calls are bare JSON. */
  readonly tag?: string;
  /** The rule for what follows the tag, to the end of the calls; `limits` is how many calls there may be. */
  wrap?(call: Rule, limits: Pick<ManyRule, 'min' | 'max'>): Rule;
}

/** Thrown for tools whose parameters no grammar can express. */
export class UnsupportedToolSchema extends Error {
  readonly errors: readonly ToolSchemaError[];

  constructor(errors: readonly ToolSchemaError[]) {
    super(
      errors
        .map(({ tool, pointer, message }) => `the tool "${tool}": ${`${pointer} ${message}`.trimStart()}`)
        .join('; '),
    );
    this.errors = errors;
  }
}

/** One thing that a grammar cannot express; `pointer` is a JSON pointer into the parameters of the tool. */
export interface ToolSchemaError extends SchemaError {
  readonly tool: string;
}

/** The rules of the arguments of tools, by name. @param compile that of one tool. @throws UnsupportedToolSchema */
export function createArgumentRules(
  tools: readonly Tool[],
  choice: ToolChoice = { kind: 'auto' },
  compile: (tool: Tool) => ReadResult<Rule> = compileArguments,
): ReadonlyMap<string, Rule> {
  const errors: ToolSchemaError[] = [];
  const rules = new Map<string, Rule>();
  const size = new GrammarSize();
  for (const tool of choice.kind === 'tool' ? tools.filter(({ name }) => name === choice.name) : tools) {
    const compiled = compile(tool);
    if (compiled.ok) rules.set(tool.name, compiled.value);
    else errors.push(...compiled.errors.map((error) => ({ ...error, tool: tool.name })));
    const takeBack = size.checkpoint();
    const problem = compiled.ok ? sizeProblem(size, compiled.value) : undefined;
    if (problem === undefined) continue;
    // The tools after it are measured without it.
    takeBack();
    errors.push({ tool: tool.name, pointer: '', message: `together with the tools before it ${problem}` });
  }
  if (errors.length > 0) throw new UnsupportedToolSchema(errors);
  return rules;
}

/** The grammar rule of the arguments of one tool; compiled once for its two users: grammar, and check of calls. */
export const compileArguments = memoized(
  // An object of any members is the default of JSON Schema; a tool that declares no parameters takes none.
  ({ parameters }: Tool): ReadResult<Rule> => ruleFromSchema({ properties: {}, ...parameters }),
);

/** The calls as the whole text where a call is required, else after a trigger. @throws UnsupportedToolSchema */
export function callGrammar(tools: readonly Tool[], choice: ToolChoice, form: CallForm): CallGrammar {
  const call = anyOf([...createArgumentRules(tools, choice)].map(([name, args]) => callRule(name, args, form)));
  if (choice.kind !== 'auto')
    return { kind: 'full', rule: taggedRule(call, form, { min: 1, max: 1 }), budget: maxTokensPerCall };
  const untagged: Trigger = { text: '{', where: 'first', rule: call };
  if (form.tag === undefined) return { kind: 'lazy', triggers: [untagged], budget: maxTokensPerCall };
  const tagged: Trigger = { text: form.tag, where: 'anywhere', rule: taggedRule(call, form, { min: 1 }) };
  return { kind: 'lazy', triggers: [tagged, untagged], budget: maxTokensPerCall };
}

/** Enough for a call with the text of a letter in an argument. A call that is longer hardly ever ends. */
export const maxTokensPerCall = 1024;

const taggedRule = (call: Rule, { tag: name, wrap }: CallForm, limits: Pick<ManyRule, 'min' | 'max'>): Rule =>
  name === undefined ? call : all(tag(name), wrap?.(call, limits) ?? call);

function callRule(name: string, args: Rule, { keys, id }: CallForm): Rule {
  const start = `{${JSON.stringify(keys.name)}: ${JSON.stringify(name)}, ${JSON.stringify(keys.arguments)}: `;
  return all(text(start), args, ...(id ? [id] : []), text('}'));
}
