import { createArgumentRules, maxTokensPerCall } from '../formats/callGrammar.ts';
import { all, anyOf, type CallGrammar, char, many, type Rule, text, type ToolChoice } from '../grammar/rule.ts';
import type { CallMarkup, Tool, ToolCallFormat, WrittenCall } from '../tool.ts';
import type { CallLayout, LayoutPart } from './layout.ts';
import { literalRule } from './marks.ts';
import { nativeMarkup, nativeTags, triggerOf } from './read/nativeTags.ts';
import { parametersRule, writeParameters } from './values/parameterList.ts';
import { stringifyJson } from '../json/value.ts';
import { commonMarkup } from '../reply/detect/tags.ts';
import type { Formats } from '../formats/index.ts';
import type { ToolDialect } from './toolDialect.ts';
import { detect } from '../reply/detect/detect.ts';
import type { CallKeys } from '../reply/detect/callShape.ts';
import { functionJson } from '../formats/toolText.ts';

/** Name of the format that is read off a model's chat template. */
export const nativeFormatName = 'native';

/** The format of a model's own layout of calls. */
export const nativeFormat = (layout: CallLayout): ToolCallFormat => ({
  name: nativeFormatName,
  place: 'system',
  markup: nativeMarkup(layout),
  render: (tools) => `# Tools

You can call these functions:
${tools.map(functionJson).join('\n')}

To call a function, write exactly this:
${exampleCall(layout)}`,
  renderCalls: (calls) => writeCalls(calls, layout),
  detect: (text, options) => detect(text, callKeys(layout), options, nativeTags(layout)),
  grammar: (tools, choice) => nativeGrammar(tools, choice, layout),
});

export const exampleCall = (layout: CallLayout): string =>
  writeCalls(
    [{ id: 'a1b2c3d4e', name: '<function-name>', arguments: new Map([['<argument-name>', '<value>']]) }],
    layout,
  );

function callKeys({ arguments: notation }: CallLayout): CallKeys {
  const keys = notation.kind === 'json' ? notation.keys : undefined;
  return keys ?? { name: 'name', arguments: 'arguments' };
}

/** The grammar of calls in a layout, as `callGrammar` makes it for the other formats. @throws UnsupportedToolSchema */
function nativeGrammar(tools: readonly Tool[], choice: ToolChoice, layout: CallLayout): CallGrammar {
  const call = callRule(tools, choice, layout);
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

function callRule(tools: readonly Tool[], choice: ToolChoice, { between, after, arguments: layout }: CallLayout): Rule {
  const compile = layout.kind === 'json' ? undefined : ({ parameters }: Tool) => parametersRule(parameters, layout);
  const rules = createArgumentRules(tools, choice, compile);
  return all(anyOf([...rules].map(([name, args]) => all(text(name), ...rulesOf(between), args))), ...rulesOf(after));
}

// Outside of a section a further call starts with its own trigger.
function furtherCalls(call: Rule, { open, separator, before }: CallLayout): readonly Rule[] {
  if (open === '' || separator === undefined) return [];
  return [many(all(literalRule(separator), ...rulesOf(before), call), { min: 0 })];
}

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

/** The text of calls in a layout, as the model's chat template writes them. */
export function writeCalls(calls: readonly WrittenCall[], layout: CallLayout): string {
  const written = calls.map((call, index) => writeCall(call, index, layout));
  return `${layout.header}${layout.open}${written.join(layout.separator ?? '\n')}${layout.close}`;
}

function writeCall({ id, name, arguments: args }: WrittenCall, index: number, layout: CallLayout): string {
  const write = (parts: readonly LayoutPart[]): string =>
    parts.map((part) => (typeof part === 'string' ? part : part.slot === 'id' ? id : String(index))).join('');
  const { before, between, after, arguments: notation } = layout;
  const writtenArguments = notation.kind === 'json' ? stringifyJson(args) : writeParameters(args, notation);
  return `${write(before)}${name}${write(between)}${writtenArguments}${write(after)}`;
}

/** The formats that a model can be used with: all, and `native` where its chat template proves a layout of its own. */
export function formatsOf({ layout }: ToolDialect, formats: Formats): Formats {
  return layout ? new Map<string, ToolCallFormat>([...formats, [nativeFormatName, nativeFormat(layout)]]) : formats;
}

/** The marks around the calls of a model, whatever format it is used with. */
export const markupOf = ({ layout }: ToolDialect): CallMarkup => (layout ? nativeMarkup(layout) : commonMarkup);

/** Why the chat template of a model that knows tools gives no format: a warning; "" = it gives one, or knows no tools. */
export function dialectWarning({ format, knowsTools, because }: ToolDialect): string {
  return format === undefined && knowsTools
    ? `the model's tool calls may not be read, for ${because}; "turngraph tools formats" shows the probes; name a format, or set strict`
    : '';
}
