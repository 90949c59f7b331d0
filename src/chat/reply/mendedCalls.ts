import { quoteBareWords } from '../json/lenientParser.ts';
import type { DetectedCall, DetectOptions, ToolCallFormat } from '../tool.ts';
import { commonMarkup } from './detect/tags.ts';

type OfferedTools = NonNullable<DetectOptions['tools']>;

/** The calls of offered tools in malformed markup, once one mistake that models make is mended in it. */
export function mendedCalls(block: string, format: ToolCallFormat, options: DetectOptions): readonly DetectedCall[] {
  const { tools = [] } = options;
  if (tools.length === 0) return [];
  for (const mended of new Set(mendings(block, format, tools))) {
    const detected = format.detect(mended, options);
    const calls = detected.calls.map((call) => withOfferedName(call, tools));
    // Of several calls, none is left aside.
    const areRead = calls.length > 0 && !/[[{(]/.test(detected.residual);
    const areOffered = calls.every((call) => tools.some(({ name }) => name === call.name));
    if (areRead && areOffered) return calls.map((call) => ({ ...call, raw: block, repaired: true }));
  }
  return [];
}

/** The markup as it is, with words in quotes, with a name once that is there twice, with single braces, with another mark. */
function mendings(block: string, { markup = commonMarkup }: ToolCallFormat, tools: OfferedTools): readonly string[] {
  let once = block;
  for (const { name } of tools)
    for (const separator of [':', ' ', ': ', '.']) once = once.replaceAll(`${name}${separator}${name}`, name);
  const single = block.replaceAll('{{', '{').replaceAll('}}', '}');
  const own = markup.opens.filter((mark) => !commonMarkup.opens.includes(mark));
  const marked = own.flatMap((mark) => [mark + block, mark + block.replace(/^[^\w[{]+/, '')]);
  return [block, quoteBareWords(block), once, single, block.replace(/^[^[{]*/, ''), ...marked];
}

// Models put these around the names of functions: `functions.f`, `tools.f`, `/f`, `functions_f_1`, `fjson`.
const prefix = /^(?:functions|(?:functions?|tools?)[._/:]|[/.:])?$/i;
const suffix = /^(?:json|code)?$/i;
const number = /^[_:.]?\d{1,3}$/;

/** A call with the name of the offered tool, where something stands around it that is no part of a name. */
export function withOfferedName(call: DetectedCall, tools: OfferedTools): DetectedCall {
  if (tools.some(({ name }) => name === call.name)) return call;
  const found = tools.find(({ name }) => {
    const at = call.name.indexOf(name);
    const [before, after] = [call.name.slice(0, Math.max(at, 0)), call.name.slice(at + name.length)];
    return at >= 0 && prefix.test(before) && (suffix.test(after) || (before !== '' && number.test(after)));
  });
  return found ? { ...call, name: found.name, repaired: true } : call;
}
