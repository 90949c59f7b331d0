import Mustache from 'mustache';
import { describeError, Fault } from '../../protocol/fault.ts';
import { invalid, type ReadResult } from '../../protocol/schema.ts';
import type { PendingCall } from '../../chat/dialog.ts';
import { memoized } from '../../base/memoized.ts';
import { JsonNumber, stringifyJson, type JsonObject } from '../../chat/json/value.ts';
import { type Insight, visibleInsight } from '../../chat/tools/validate/callIssues.ts';
import type { AnsweredCall } from '../../chat/tool.ts';
import { knowledgeVariables, answeredCalls, type Call, type Turn } from './turn.ts';
import { parseJsonText } from '../../chat/json/lenientParser.ts';

/** Compiled Mustache template of a graph: no HTML escaping, no partials, no lambdas. */
export interface Template {
  readonly text: string;
  /** Names of all variables and sections. */
  readonly names: ReadonlySet<string>;
  /**
   * Renders the template for one turn. An unknown variable renders empty and becomes a warning of the turn.
   * @throws Fault LIMIT_EXCEEDED when the result is too long, or has too many sections.
   */
  render(scope: TemplateScope): string;
}

/** Compiles a Mustache template; its warnings name it by `place`. */
export function compileTemplate(text: string, place: string): ReadResult<Template> {
  if (!text.includes('{{')) return { ok: true, value: plainTemplate(text) };
  const tagError = findTagError(text);
  if (tagError !== undefined) return invalid('', tagError);
  const writer = new LimitedWriter();
  let names: ReadonlySet<string>;
  try {
    const tokens = withInner(writer.parse(text) as readonly Token[]);
    if (tokens.some(([kind]) => kind === '>')) return invalid('', 'uses a partial ({{> ...}}), and graphs have none');
    names = new Set(tokens.flatMap(([kind, name]) => (namingKinds.has(kind) ? [name] : [])));
  } catch (error) {
    return invalid('', `is not a valid Mustache template: ${describeError(error)}`);
  }
  return { ok: true, value: { text, names, render: (turn) => writer.renderFor(turn, text, place) } };
}

/** A template without tags. mustache would read it character by character. */
const plainTemplate = (text: string): Template => ({
  text,
  names: new Set(),
  render(turn) {
    warnOfReservedNames(turn);
    return text;
  },
});

// In characters; mustache reads 3 million of them in a second.
const maxTemplateLength = 262_144;
// In characters. mustache finds the end of a tag in time quadratic in its white space, so long tags are refused.
const maxTagLength = 256;
// mustache parses nested sections with one call for each level, and a tag in some microseconds.
const maxNesting = 100;
const maxTags = 5000;

function findTagError(text: string): string | undefined {
  let [nesting, tags] = [0, 0];
  for (let tagStart = text.indexOf('{{'); tagStart >= 0; tagStart = text.indexOf('{{', tagStart + 2)) {
    const afterStart = text.slice(tagStart + 2, tagStart + maxTagLength);
    const kind = afterStart.trimStart().charAt(0);
    if (kind === '=') return 'changes its delimiters ({{=...=}}), and graphs do not';
    const tagEnd = text.indexOf(kind === '{' ? '}}}' : '}}', tagStart);
    if (tagEnd < 0 || tagEnd - tagStart > maxTagLength)
      return `is not a valid Mustache template: Unclosed tag at ${tagStart}`;
    if (++tags > maxTags) return `has more than ${maxTags} tags; use fewer`;
    if (kind === '#' || kind === '^') nesting++;
    if (kind === '/') nesting--;
    if (nesting > maxNesting) return `has sections nested deeper than ${maxNesting} levels, at ${tagStart}; nest fewer`;
    tagStart = tagEnd;
  }
  if (text.length > maxTemplateLength)
    return `has ${text.length} characters, and ${maxTemplateLength} are allowed for a text with tags`;
  return undefined;
}

// A token of mustache's parser; `inner` are the tokens of a section.
type Token = readonly [kind: string, name: string, start: number, end: number, inner?: readonly Token[] | string];

/** Tokens with those of their sections. */
const withInner = (tokens: readonly Token[]): readonly Token[] =>
  tokens.flatMap((token) => [token, ...(typeof token[4] === 'object' ? withInner(token[4]) : [])]);

const namingKinds: ReadonlySet<string> = new Set(['name', '&', '#', '^']);

// Looks up members of values as templates see them.
class OwnPropertyContext extends Mustache.Context {
  override push(view: unknown): OwnPropertyContext {
    return new OwnPropertyContext(view, this);
  }

  override lookup(name: string): unknown {
    if (name === '.') return templateValue(this.view);
    const [first = '', ...rest] = name.split('.');
    for (let context: Mustache.Context | undefined = this; context; context = context.parent) {
      const found = templateMember(context.view, first);
      // The label is all that there is of a Route: {{route}} is {{route.label}}.
      if (name === 'route.label' && typeof found === 'string') return found;
      if (found !== undefined) return rest.reduce(templateMember, found);
    }
    return undefined;
  }
}

// Limits of one rendering: characters of the result, and sections rendered, which bounds the work of nested loops.
const maxRenderedCharacters = 1024 * 1024;
const maxRenderedSections = 10_000;

// Renders without HTML escaping, counts against the limits, and warns of unknown names. The state is that of one
// rendering, which is one synchronous call.
class LimitedWriter extends Mustache.Writer {
  #unknown = new Set<string>();
  #length = 0;
  #sections = 0;

  renderFor(turn: TemplateScope, text: string, place: string): string {
    this.#unknown = new Set();
    this.#length = 0;
    this.#sections = 0;
    const rendered = this.render(text, new OwnPropertyContext(createTemplateData(turn)));
    for (const name of this.#unknown) turn.warn(`${place} names {{${name}}}, which this turn does not have`);
    return rendered;
  }

  override renderTokens(...args: Parameters<Mustache.Writer['renderTokens']>): string {
    if (++this.#sections > maxRenderedSections) throw templateLimitFault('sections', maxRenderedSections);
    return super.renderTokens(...args);
  }

  override rawValue(token: string[]): string {
    return this.#countCharacters(super.rawValue(token));
  }

  override escapedValue(token: string[], context: Mustache.Context): string {
    return this.unescapedValue(token, context);
  }

  override unescapedValue(token: string[], context: Mustache.Context): string {
    const name = token[1] ?? '';
    const value: unknown = context.lookup(name);
    if (value !== undefined && value !== null) return this.#countCharacters(templateText(value));
    this.#unknown.add(name);
    return '';
  }

  #countCharacters(text: string): string {
    this.#length += text.length;
    if (this.#length > maxRenderedCharacters) throw templateLimitFault('characters', maxRenderedCharacters);
    return text;
  }
}

const templateLimitFault = (what: string, allowed: number): Fault =>
  new Fault('LIMIT_EXCEEDED', `a template renders to more than ${allowed} ${what}; give it less to render`);

// The lists of a turn that have what a model wrote in its calls.
const callLists: ReadonlySet<string> = new Set(['tool_calls', 'tool_results', 'insights', 'unsure', 'pending']);
// Of what is in scope within such a list, these do not come from a model.
const ownNames: ReadonlySet<string> = new Set(['content', 'ok', 'tool', 'significance', 'user_message', 'route']);

const tokensOf = (template: string): readonly Token[] =>
  template.includes('{{') ? (new Mustache.Writer().parse(template) as readonly Token[]) : [];

/** Whether a template may show what a model wrote: calls with arguments. A section alone shows nothing. */
export const showsCalls = (template: string): boolean => shows(tokensOf(template), false, false);

function shows(tokens: readonly Token[], inCalls: boolean, inArguments: boolean): boolean {
  return tokens.some(([kind, name, , , inner]) => {
    const path = name.split('.');
    const [first = '', , ofEntry = ''] = path;
    const isOfList = callLists.has(first);
    // `.` alone is everything in scope, as JSON.
    if (kind === 'name' || kind === '&')
      return first === '' || inArguments || ((inCalls || isOfList) && !ownNames.has(isOfList ? ofEntry : first));
    if (typeof inner !== 'object') return false;
    if (kind !== '#') return shows(inner, inCalls, inArguments);
    const isOfCalls = inCalls || isOfList;
    return shows(inner, isOfCalls, inArguments || (isOfCalls && path.includes('arguments')));
  });
}

/** The fields of answers that a template may show; "" = any. A section of one alone shows nothing. */
export const shownFields = (template: string): readonly string[] => fieldsIn(tokensOf(template));

const fieldsIn = (tokens: readonly Token[]): readonly string[] =>
  tokens.flatMap(([kind, name, , , inner]) => {
    const isNamed =
      kind === 'name' || kind === '&' ? /^(?:\.$|fields(?:\.|$))/.test(name) : kind === '#' && name === 'fields';
    return [...(isNamed ? [name.slice('fields.'.length)] : []), ...(typeof inner === 'object' ? fieldsIn(inner) : [])];
  });

/** The part of a turn that a template reads. */
export type TemplateScope = Pick<Turn, 'message' | 'variables' | 'calls' | 'insights' | 'exchanges' | 'warn'> &
  Partial<Pick<Turn, 'selection' | 'route' | 'fields' | 'knowledge' | 'pending'>>;

// Names that templates have in scope in addition to the variables of the message.
const reservedNames =
  'user_message tool_calls tool_results insights unsure pending guidelines route fields knowledge'.split(' ');

// Characters of JSON in the results of one turn. A template is rendered in one synchronous call.
const maxResultJson = 512 * 1024;

/** Warns of variables that templates do not see, because the turn has values of these names. */
function warnOfReservedNames(turn: TemplateScope): void {
  for (const name of [...reservedNames, ...Object.keys(knowledgeVariables(turn.knowledge ?? []))])
    if (Object.hasOwn(turn.variables, name)) turn.warn(`variables.${name} is not used: the name belongs to the turn`);
}

/** The values that a template has in scope. JSON of calls and results is parsed when a template reads it, and once. */
function createTemplateData(turn: TemplateScope): object {
  warnOfReservedNames(turn);
  const turnData = {
    user_message: turn.message,
    tool_calls: turn.calls.map(toTemplateCall),
    tool_results: toTemplateResults(turn),
    insights: turn.insights.filter(({ confidence }) => confidence === undefined).map(visibleInsight),
    unsure: turn.insights.flatMap(toTemplateUnsure),
    pending: (turn.pending ?? []).map(toTemplatePending),
    guidelines: turn.selection?.guidelines ?? [],
    route: turn.route ?? '',
    fields: turn.fields ?? new Map(),
    knowledge: turn.knowledge ?? [],
    ...knowledgeVariables(turn.knowledge ?? []),
  };
  return { ...turn.variables, ...turnData };
}

/** A member of a value, for templates: own members only, and no functions, so that a template cannot reach prototypes. */
function templateMember(holder: unknown, name: string): unknown {
  if (holder instanceof Map) return templateValue((holder as JsonObject).get(name));
  if (typeof holder !== 'object' || holder === null || holder instanceof JsonNumber) return undefined;
  if (!Object.hasOwn(holder, name)) return undefined;
  const value = (holder as Readonly<Record<string, unknown>>)[name];
  return typeof value === 'function' ? undefined : templateValue(value);
}

/** A value as templates see it: numbers of calls have all their digits. */
const templateValue = (value: unknown): unknown => (value instanceof JsonNumber ? value.digits : value);

/** The text that a value renders as: objects and lists as their JSON. */
const templateText = (value: unknown): string => (typeof value === 'object' ? stringifyJson(value) : String(value));

const toTemplateCall = (call: Call): object => ({
  name: call.name,
  get arguments() {
    return argumentsOf(call);
  },
});

const toTemplateUnsure = ({ tool: tool_name, arguments: args, confidence }: Insight): readonly object[] =>
  confidence === undefined ? [] : [{ tool_name, arguments: args, confidence }];

const toTemplatePending = (call: PendingCall): object => ({
  tool_name: call.tool_name,
  get arguments() {
    return pendingArgumentsOf(call);
  },
  missing: call.missing,
});

function toTemplateResults({ exchanges, warn }: TemplateScope): readonly object[] {
  let jsonCharacters = 0;
  return answeredCalls(exchanges).map((call) => {
    const { name, arguments: args, ok, content } = call;
    if (!/^\s*[[{]/.test(content)) return { name, arguments: args, ok, content };
    jsonCharacters += content.length;
    const isTooMuch = jsonCharacters > maxResultJson;
    const warning = `templates see the content of a result of ${name} as text: the results of a turn may have ${maxResultJson} characters of JSON; send less`;
    return {
      name,
      arguments: args,
      ok,
      get content() {
        if (!isTooMuch) return contentOf(call) ?? content;
        warn(warning);
        return content;
      },
    };
  });
}

const argumentsOf = memoized(({ typedArguments }: Call) => parseJsonText(typedArguments));
const pendingArgumentsOf = memoized(({ arguments_json }: PendingCall) => parseJsonText(arguments_json));
const contentOf = memoized(({ content }: AnsweredCall) => parseJsonText(content));
