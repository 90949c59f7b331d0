import { anyOfTexts } from '../../base/patterns.ts';
import { endOfMatch, quoteBareWords } from '../json/lenientParser.ts';
import type { CallMarkup, DetectedCall, DetectOptions, ToolCallFormat } from '../tool.ts';
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

/** The markup as it is, with words in quotes, single braces, another mark or notation of it, or as JSON. */
function mendings(block: string, { markup = commonMarkup }: ToolCallFormat, tools: OfferedTools): readonly string[] {
  const start = block.replace(/\{[^]*$/, '');
  const own = markup.opens.filter((mark) => !commonMarkup.opens.includes(mark));
  const marked = own.flatMap((mark) => [mark + block, mark + block.replace(/^[^\w[{]+/, '')]);
  const valued = block.replace(/<(function|parameter)(?:(?:\s+name)?\s*=\s*|>)"?([\w.-]+)"?\s*>?/g, '<$1=$2>');
  const recipient = block.replace(/\bto=(?:functions?_|(?:functions?|tools?)[./:]|\/)?(?=\w)/, 'to=functions.');
  return [
    block,
    start + quoteBareWords(block.slice(start.length)),
    block.replaceAll('{{', '{').replaceAll('}}', '}'),
    block.replace(/^[^[{]*/, ''),
    ...marked,
    valued,
    recipient,
    ...asJson(block, markup, tools),
  ];
}

/** The call as JSON, where a mark is there, and arguments, or a closing mark, follow on the name in any notation. */
function asJson(block: string, markup: CallMarkup, tools: OfferedTools): readonly string[] {
  if (!/<\S|\[[A-Z]/.test(block)) return [];
  const named = new RegExp(`(?<![\\w-])(?:${anyOfTexts(tools.map(({ name }) => name))})(?![\\w-])`, 'g');
  const found = [...block.matchAll(named)]
    .map(({ 0: name, index }) => ({ name, end: argumentsStart(block, index + name.length) }))
    .find(({ end }) => end === block.length || '({'.includes(block[end] ?? ''));
  if (!found) return [];
  const [{ name }, head, rest] = [found, block.slice(0, found.end), block.slice(found.end)];
  const given = rest.slice(0, rest.lastIndexOf(rest.startsWith('(') ? ')' : '}') + 1);
  const inner = given.startsWith('(') ? given.slice(1, -1).trim() : given;
  const args = inner.startsWith('{')
    ? inner
    : `{${inner.replace(keyOfArgument, (text, key) => (key ? `"${key}":` : text))}}`;
  const isCall = given !== '' || (rest === '' && markup.closes.some((mark) => head.trimEnd().endsWith(mark)));
  const call = `{"name": "${name}", "arguments": ${args.replaceAll('<|"|>', '"')}}`;
  return isCall ? [`<tool_call>${quoteBareWords(call)}</tool_call>`] : [];
}

/** Index after the marks and other characters that stand between a name and its arguments. */
function argumentsStart(block: string, nameEnd: number): number {
  let start = endOfMatch(afterName, block, nameEnd) ?? nameEnd;
  for (let left = 8; left > 0; left--) start = endOfMatch(betweenNameAndArguments, block, start) ?? start;
  return start;
}

const afterName = /(?:\[CALL_ID\]\w{1,64})?(?:\[ARGS\]|\.call)?/y;
const betweenNameAndArguments = /<[^\s<>]{1,32}>|json|[^\w({<>]/y;

/** A key of Python's arguments, and the strings between which it stands. */
const keyOfArgument = /"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|(?<!\w)(\w{1,64})\s{0,8}=/g;

// Models put these around the names of functions: `functions.f`, `tools.f`, `/f`, `functions_f_1`, `fjson`, `f()`.
const prefix = /^["'\s]{0,8}(?:functions|(?:functions?|tools?|call)[._/:]|[/.:])?$/i;
const suffix = /^(?:\.?json|code|\(\)|\/)?["'\s]{0,8}$/i;
const number = /^[_:.]?\d{1,3}$/;

/** A call with the name of the offered tool, where something stands around it that is no part of a name, or letters are of the other case. */
export function withOfferedName(call: DetectedCall, tools: OfferedTools): DetectedCall {
  if (tools.some(({ name }) => name === call.name)) return call;
  const plain = (name: string): string => name.toLowerCase().replaceAll('-', '_');
  const written = plain(call.name);
  const found = tools.find(({ name }) => {
    const at = written.indexOf(plain(name));
    const [before, after] = [written.slice(0, Math.max(at, 0)), written.slice(at + plain(name).length)];
    const isNumbered = number.test(after) && (before !== '' || /^\D/.test(after));
    return at >= 0 && prefix.test(before) && (suffix.test(after) || isNumbered);
  });
  return found ? { ...call, name: found.name, repaired: true } : call;
}
