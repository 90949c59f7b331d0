import type { DetectedCall, DetectOptions, Detection, Tool, ToolCallFormat, MalformedCall } from '../tool.ts';
import { resultContent } from '../tool.ts';
import { extractCalls, type ParsedArguments } from '../reply/detect/callShape.ts';
import { detect } from '../reply/detect/detect.ts';
import { withoutOpenFence } from '../markdownCode.ts';
import { parseObjectAt } from '../json/objectList.ts';
import { cutOffKeyword, isBeginning, KeywordFinder, type Keyword } from './keywordLines.ts';
import { afterValue, readObjectArguments, readOwnArguments, type MalformedArguments } from './ownArguments.ts';
import { withoutEndTokens } from '../reply/detect/tags.ts';
import { type CallGrammar, type ToolChoice, all, anyOf, many, optional, text as literal } from '../grammar/rule.ts';
import { charExcept } from '../grammar/textWithout.ts';
import { stringifyJson } from '../json/value.ts';
import { createArgumentRules, maxTokensPerCall } from './callGrammar.ts';
import { toolSignature } from './toolText.ts';

/** Tool-call format for models without tool training (ReAct): thoughts, actions and observations as lines of text. */
export const react: ToolCallFormat = {
  name: 'react',
  place: 'system',
  retries: 1,
  retriesUnknown: true,
  answersAtEnd: true,
  stop: ['\nObservation:'],
  render: (tools) => `You can use tools. To use one, reply in this form:
Thought: what to do next
Action: the name of one tool
Action Input: its arguments as a JSON object

You then get its result as an Observation. To answer without a tool, reply in this form:
Thought: why no tool is needed
Final Answer: the answer to the user

Tools:
${tools.map(toolSignature).join('\n')}`,
  renderCalls: (calls) =>
    calls.map(({ name, arguments: args }) => `Action: ${name}\nAction Input: ${stringifyJson(args)}`).join('\n'),
  renderResult: (call) => `Observation: ${resultContent(call)}`,
  detect: (text, options) => new ReplyReader(text, options).read(),
  grammar,
};

function grammar(tools: readonly Tool[], choice: ToolChoice): CallGrammar {
  const calls = [...createArgumentRules(tools, choice)];
  const call = anyOf(calls.map(([name, args]) => all(literal(`Action: ${name}\nAction Input: `), args)));
  const thought = optional(all(literal('Thought: '), thoughtText, literal('\n')));
  if (choice.kind !== 'auto') return { kind: 'full', rule: all(thought, call), budget: maxTokensPerCall };
  const later = { text: '\nAction:', where: 'anywhere', rule: all(literal('\n'), call) } as const;
  return { kind: 'lazy', triggers: [later, { text: 'Action:', where: 'first', rule: call }], budget: maxTokensPerCall };
}

// Without the characters of keywords and of marks of reasoning.
const thoughtText = many(charExcept(['\n', '\r', ':', '<', '[']), { min: 1, max: 200 });
const sectionNames = ['thought', 'action', 'action input', 'observation', 'final answer'] as const;
type Section = Keyword<(typeof sectionNames)[number]>;

const closing = /[*_]{0,3}(?:thought|action|observation|final answer)\b|`{3}|<[|/]/iy;
/** What may follow an action in the middle of a line: a name, and the input. */
const inlineName = /[\s*"'`[(]{0,8}([\w.-]{0,64})[\s*"'`\]).]{0,8}(action[ _]?input|[<{])?/iy;
const nameOnLine = /^[\s*"'`[(]*([A-Za-z_](?:[\w.-]{0,62}\w)?)/;
const objectAfterName = /^[\s"'`*\]).,;:(]*(?:[A-Za-z_ ]{1,24}:[\s*]*)?(?:`{3}\w*\s*)?(?=\{)/;
const afterName = /^[\s*"'`\]).,;:(]*$/;
const noTool = /^\W*(?:none|null|nil|n\/?a|no|nothing|no[ _-]?(?:tool|action)s?(?: needed)?|final answer|finish)\W*$/i;
const valueEnd = /[}\])"'`]\s{0,8}$/;
const onlyPunctuation = /^[\s,;)\]}"'`]*$/;
const maxPhrase = 40;

type ReadCall = (ParsedArguments & { readonly name: string; readonly end: number }) | MalformedArguments;

/** A part of a reply that is in no section, or that is malformed; what is invented is in no residual text. */
type Piece = MalformedCall & { readonly kind: 'said' | 'malformed' | 'invented' };

/** Reads one reply, in time linear in its length. Indexes are offsets into the text without its end tokens. */
class ReplyReader {
  readonly #options: DetectOptions;
  readonly #tools: ReadonlyMap<string, Tool>;
  readonly #text: string;
  readonly #keywords: KeywordFinder<Section['name']>;
  /** The beginning of a keyword that the text ends in; "" once it is a part of a malformed call. */
  #cutOff: string;
  readonly #pieces: Piece[] = [];
  readonly #calls: DetectedCall[] = [];
  #thought = '';
  #answer: string | undefined;
  #truncated = false;

  constructor(text: string, options: DetectOptions = {}) {
    const whole = withoutEndTokens(text);
    this.#options = options;
    this.#tools = new Map(options.tools?.map((tool) => [tool.name, tool]));
    this.#cutOff = cutOffKeyword(whole, 'action input');
    this.#text = whole.slice(0, whole.length - this.#cutOff.length);
    this.#keywords = new KeywordFinder(sectionNames, this.#text, options.marks);
  }

  /** @param isRest whether the text is what remains of a reply whose calls are known. */
  read(isRest = false): Detection {
    const text = this.#text;
    const { start } = this.#keywords;
    const sections: Section[] = [];
    const first = this.#next(start, undefined);
    this.#say(text.slice(start, first?.start));
    for (let section = first; section; section = this.#readSection(section)) sections.push(section);
    if (!isRest && !sections.some(({ name }) => name.startsWith('action'))) {
      const end = sections.find(({ name }) => name !== 'thought')?.start ?? text.length;
      const other = detect(text.slice(0, end), { name: 'name', arguments: 'arguments' }, this.#options);
      if (other.calls.length > 0) {
        const rest = new ReplyReader(`${other.residual}\n${text.slice(end)}`, this.#options).read(true);
        return { ...rest, calls: other.calls, truncated: rest.truncated || other.truncated };
      }
      if (!first && this.#cutOff === '') return other;
      this.#truncated = other.truncated;
    }
    const isUndecided = this.#calls.length === 0 && this.#answer === undefined && this.#pieces.length === 0;
    const isUnclosed = this.#options.isCutOff === true || this.#cutOff !== '';
    if (first && isUndecided && !isRest)
      this.#refuse(first.start, undefined, { reason: 'it has no name of a tool and no Final Answer', isUnclosed });
    if (this.#cutOff !== '')
      this.#refuse(text.length, undefined, { reason: 'the text ends inside a keyword', isUnclosed });
    const isSaid = this.#calls.length > 0 || this.#answer === undefined;
    const kept = this.#pieces.filter(({ kind }) => kind === 'malformed' || (kind === 'said' && isSaid));
    const parts = [text.slice(0, start).trim(), ...kept.map((piece) => piece.text), this.#answer ?? ''];
    return {
      calls: this.#calls,
      residual: parts.filter((part) => part !== '').join('\n'),
      truncated: this.#truncated,
      unread: this.#pieces.filter(({ kind }) => kind !== 'said'),
    };
  }

  /** Reads a section. @returns the next one. */
  #readSection(section: Section): Section | undefined {
    const { name, start, end } = section;
    if (name === 'action') return this.#readAction(section);
    if (name === 'observation') {
      const text = this.#text.slice(start).trim();
      if (text.length > end - start)
        this.#pieces.push({ kind: 'invented', text, reason: 'it goes on with a result that it made up' });
      return undefined;
    }
    const next = this.#next(end, name);
    const content = this.#text.slice(end, next?.start).trim();
    if (name === 'action input') this.#refuse(start, next, { reason: 'no Action precedes its Action Input' });
    else if (name === 'final answer') this.#answer = withoutOpenFence(content);
    else {
      this.#thought = content;
      // Where no decision follows, a thought is one paragraph, and the rest is said.
      const [paragraph = ''] = next ? [] : content.split(/\n[ \t]*\n/, 1);
      if (!next) this.#say(content.slice(paragraph.length));
    }
    return next;
  }

  #readAction({ start, end, name: within }: Section): Section | undefined {
    const text = this.#text;
    const next = this.#next(end, within);
    const input = next?.name === 'action input' ? next : undefined;
    const limit = next?.start ?? text.length;
    const at = end + text.slice(end, limit).search(/\S|$/);
    const line = /^[^\n]*/.exec(text.slice(at, limit))?.[0].trimEnd() ?? '';
    const afterInput = input ? this.#next(input.end, input.name) : next;
    const isNone = line.length <= maxPhrase && noTool.test(line) && !this.#tools.has(line);
    const call = isNone ? undefined : this.#readCall(line, at, input, afterInput);
    if (!call || !('end' in call)) {
      if (call) this.#refuse(start, afterInput, call);
      else this.#say(text.slice(input ? input.end : at, afterInput?.start).replace(/^.*/, ''));
      return afterInput;
    }
    const { end: callEnd, ...read } = call;
    const raw = text.slice(start, callEnd).trim();
    this.#calls.push({ ...read, raw, ...(this.#thought !== '' && { thought: this.#thought }) });
    this.#thought = '';
    // A value may have the next keyword in a string.
    const known = input && callEnd <= input.start ? input : afterInput;
    const following = known && known.start < callEnd ? this.#next(callEnd, 'action input') : known;
    this.#say(text.slice(callEnd, following?.start));
    return following;
  }

  /** Reads a call of which a line has the name, and mostly not the arguments. */
  #readCall(line: string, at: number, input: Section | undefined, following: Section | undefined): ReadCall {
    const text = this.#text;
    if (line.startsWith('{')) return this.#readCallObject(at) ?? { reason: 'its Action is no call' };
    const [before = '', name = ''] = nameOnLine.exec(line) ?? [];
    const tail = text.slice(at + before.length, (input ?? following)?.start);
    const object = name === '' ? undefined : objectAfterName.exec(tail)?.[0].length;
    if (object !== undefined) {
      const read = readObjectArguments(text, at + before.length + object, closing);
      return 'end' in read ? { ...read, name, repaired: true } : read;
    }
    if (name === '' || !afterName.test(line.slice(before.length)))
      return { reason: `"${line.slice(0, maxPhrase)}" is no name of a tool` };
    const isCutOff = this.#options.isCutOff === true || this.#cutOff !== '';
    if (!input) {
      const end = at + line.length;
      if (/\{\s*["']/.test(tail)) return { reason: 'its Action Input has another name' };
      // At the end of the text, an unknown name may be the beginning of one.
      const isOpen = !following && isBeginning(text.slice(end), 'action input');
      if (isOpen && (isCutOff || text.slice(end).trim() !== '' || !this.#tools.has(name)))
        return { reason: 'its Action Input is not there', isUnclosed: true };
      return { name, arguments: new Map(), repaired: false, end };
    }
    const options = { limit: following?.start ?? text.length, tool: this.#tools.get(name), closing, isCutOff };
    return { name, ...readOwnArguments(text, input.end, options) };
  }

  #readCallObject(at: number): ReadCall | undefined {
    const object = parseObjectAt(this.#text, at, closing);
    if ('truncatedIn' in object) return undefined;
    const options = { tagged: true, lenient: true, thought: this.#options.thought ?? false };
    const [call, other] = extractCalls(object.value, { name: 'action', arguments: 'action_input' }, options);
    return call && !other ? { ...call, repaired: true, end: afterValue(this.#text, object.end) } : undefined;
  }

  #say(part: string): void {
    const text = withoutOpenFence(part.trim());
    if (!onlyPunctuation.test(text)) this.#pieces.push({ kind: 'said', text, reason: '' });
  }

  #refuse(from: number, next: Section | undefined, { reason, isUnclosed = false }: MalformedArguments): void {
    const text = `${this.#text.slice(from, next?.start)}${next ? '' : this.#cutOff}`.trim();
    if (!next) this.#cutOff = '';
    this.#truncated ||= isUnclosed && !next;
    this.#pieces.push({ kind: 'malformed', text, reason });
  }

  /** The next keyword. Within a line they count where models write them: an input after its action, and the like. */
  #next(from: number, within: Section['name'] | undefined): Section | undefined {
    return this.#keywords.next(from, ({ name, start, end }) => {
      if (name === 'action') return this.#namesTool(end);
      if (name === 'action input') return within === 'action';
      if (name === 'final answer' && within === 'thought') return this.#text.startsWith('Final', start);
      return within === 'action input' && valueEnd.test(this.#text.slice(Math.max(from, start - 9), start));
    });
  }

  #namesTool(index: number): boolean {
    inlineName.lastIndex = index;
    const [, name = '', input] = inlineName.exec(this.#text) ?? [];
    return input !== undefined || inlineName.lastIndex === this.#text.length || this.#tools.has(name);
  }
}
