import { createArgumentRules, maxTokensPerCall, UnsupportedToolSchema } from '../formats/callGrammar.ts';
import type { CallGrammar, ToolChoice } from '../grammar/grammar.ts';
import { all, anyOf, char, many, text, type Rule } from '../grammar/rule.ts';
import { GrammarSize, sizeProblem } from '../grammar/size.ts';
import type { Tool } from '../tool.ts';
import type { CallLayout, LayoutPart } from './layout.ts';
import { literalRule } from './marks.ts';
import { triggerOf } from './read/nativeTags.ts';
import { parametersRule } from './values/parameterList.ts';

/** The grammar of calls in a layout, as `callGrammar` makes it for the other formats. @throws UnsupportedToolSchema */
export function nativeGrammar(tools: readonly Tool[], choice: ToolChoice, layout: CallLayout): CallGrammar {
  const callable = choice.kind === 'tool' ? tools.filter(({ name }) => name === choice.name) : tools;
  const call = callRule(callable, layout);
  const opening = [layout.open, ...layout.before];
  const budget = maxTokensPerCall;
  if (choice.kind !== 'auto')
    return {
      kind: 'full',
      rule: all(...rulesOf([layout.header, ...opening]), call, literalRule(layout.close)),
      budget,
    };
  const trigger = triggerOf(layout);
  const start = trigger === '' ? '{' : trigger;
  const rule = all(...rulesOf(from(start, opening)), call, ...furtherCalls(call, layout), literalRule(layout.close));
  const where = trigger === '' ? 'first' : 'anywhere';
  return { kind: 'lazy', triggers: [{ text: start, where, rule }], budget };
}

/** From the name of a call to its end. */
function callRule(tools: readonly Tool[], { between, after, arguments: layout }: CallLayout): Rule {
  const rules = layout.kind === 'json' ? createArgumentRules(tools) : createParameterRules(tools, layout);
  return all(anyOf([...rules].map(([name, args]) => all(text(name), ...rulesOf(between), args))), ...rulesOf(after));
}

function createParameterRules(
  tools: readonly Tool[],
  layout: Extract<CallLayout['arguments'], { kind: 'parameters' }>,
): ReadonlyMap<string, Rule> {
  const size = new GrammarSize();
  const rules = new Map<string, Rule>();
  for (const { name, parameters } of tools) {
    const compiled = parametersRule(parameters, layout);
    if (!compiled.ok) throw new UnsupportedToolSchema(compiled.errors.map((error) => ({ ...error, tool: name })));
    const problem = sizeProblem(size, compiled.value);
    if (problem !== undefined)
      throw new UnsupportedToolSchema([
        { tool: name, pointer: '', message: `together with the tools before it ${problem}` },
      ]);
    rules.set(name, compiled.value);
  }
  return rules;
}

// Outside of a section a further call starts with its own trigger.
function furtherCalls(call: Rule, { open, separator, before }: CallLayout): readonly Rule[] {
  if (open === '' || separator === undefined) return [];
  return [many(all(literalRule(separator), ...rulesOf(before), call), { min: 0 })];
}

/** The parts from the first occurrence of a text on. */
function from(start: string, parts: readonly LayoutPart[]): readonly LayoutPart[] {
  const index = parts.findIndex((part) => typeof part === 'string' && part.includes(start));
  const part = parts[index];
  return typeof part === 'string' ? [part.slice(part.indexOf(start)), ...parts.slice(index + 1)] : parts;
}

const slotRules = {
  id: many(char('A-Z', 'a-z', '0-9'), { min: 9, max: 9 }),
  index: many(char('0-9'), { min: 1, max: 2 }),
} as const;

const rulesOf = (parts: readonly LayoutPart[]): readonly Rule[] =>
  parts
    .filter((part) => part !== '')
    .map((part) => (typeof part === 'string' ? literalRule(part) : slotRules[part.slot]));
