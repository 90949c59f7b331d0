import Mustache from 'mustache';
import { Fault, describeError } from '../fault.ts';
import type { ReadResult } from '../schema.ts';
import { visibleInsight } from '../tools/validate/insight.ts';
import { parseJsonAt } from '../tools/json/lenientParser.ts';
import { stringifyJson, JsonNumber, type JsonObject } from '../tools/json/value.ts';
import type { Call, Turn } from './turn.ts';

/** A Mustache text of a graph: no HTML escaping, no partials, no lambdas. */
export interface Template {
  readonly text: string;
  /** All names that the template mentions. */
  readonly names: ReadonlySet<string>;
  /** The text for one turn; an unknown variable renders empty and becomes a warning of the turn. */
  render(scope: TemplateScope): string;
}

/** What a template reads: a turn, or the part of one. */
export type TemplateScope = Pick<Turn, 'message' | 'variables' | 'calls' | 'insights' | 'warn'>;

/** Names that templates have in scope beside the variables of the message. */
const reserved = ['user_message', 'tool_calls', 'insights'] as const;

/** Compiles a template of a graph; `place` is how its warnings name it. */
export function compileTemplate(text: string, place: string): ReadResult<Template> {
  const unread = findUnreadableTag(text);
  if (unread) return invalidTemplate(unread);
  const writer = new PlainWriter();
  let names: ReadonlySet<string>;
  try {
    const tokens = writer.parse(text) as readonly Token[];
    if (hasPartial(tokens)) return invalidTemplate('uses a partial ({{> ...}}), and graphs have none');
    names = new Set(variableNames(tokens));
  } catch (error) {
    return invalidTemplate(`is no Mustache template: ${describeError(error)}`);
  }
  const render = (turn: TemplateScope): string => {
    const { rendered, unknown } = writer.renderPlain(text, createTemplateData(turn));
    for (const name of unknown) turn.warn(`${place} names {{${name}}}, which this turn does not have`);
    return rendered;
  };
  return { ok: true, value: { text, names, render } };
}

// The library looks for the end of a tag in time quadratic in white space, so a tag has to end soon.
const maxTagLength = 256;

function findUnreadableTag(text: string): string | undefined {
  for (let at = text.indexOf('{{'); at >= 0; at = text.indexOf('{{', at + 2)) {
    if (text[at + 2] === '=') return 'changes its delimiters ({{=...=}}), and graphs do not';
    const end = text.indexOf('}}', at);
    if (end < 0 || end - at > maxTagLength) return `is no Mustache template: Unclosed tag at ${at}`;
    at = end;
  }
  return undefined;
}

type Token = readonly [kind: string, name: string, start: number, end: number, inner?: readonly Token[] | string];

const hasPartial = (tokens: readonly Token[]): boolean =>
  tokens.some(([kind, , , , inner]) => kind === '>' || (typeof inner === 'object' && hasPartial(inner)));

function* variableNames(tokens: readonly Token[]): Generator<string> {
  for (const [kind, name, , , inner] of tokens) {
    if (kind === 'name' || kind === '&' || kind === '#' || kind === '^') yield name;
    if (typeof inner === 'object') yield* variableNames(inner);
  }
}

const invalidTemplate = (message: string): ReadResult<Template> => ({ ok: false, errors: [{ pointer: '', message }] });

function createTemplateData(turn: TemplateScope): object {
  for (const name of reserved) {
    if (Object.hasOwn(turn.variables, name)) turn.warn(`variables.${name} is not used: the name belongs to the turn`);
  }
  const own = {
    user_message: turn.message,
    tool_calls: toTemplateValue(turn.calls.map(toTemplateCall)),
    insights: toTemplateValue(turn.insights.map(visibleInsight)),
  };
  return { ...turn.variables, ...own };
}

function toTemplateCall({ name, typedArguments }: Call): object {
  const read = parseJsonAt(typedArguments, 0);
  return { name, arguments: read.ok ? read.value : undefined };
}

// Objects and lists print their JSON text, numbers of calls all their digits; truths are truths for sections.
function toTemplateValue(value: unknown): unknown {
  if (value instanceof JsonNumber) return value.digits;
  if (typeof value !== 'object' || value === null) return value;
  const within = (members: Iterable<readonly [string, unknown]>): object =>
    Object.fromEntries([...members].map(([key, member]) => [key, toTemplateValue(member)]));
  const inner = Array.isArray(value)
    ? value.map(toTemplateValue)
    : within(value instanceof Map ? (value as JsonObject) : Object.entries(value));
  return Object.defineProperty(inner, 'toString', { value: () => stringifyJson(value), enumerable: false });
}

// Looks at own values only, so that a template reaches nothing that the language gives to every object, and calls nothing.
class OwnPropertyContext extends Mustache.Context {
  override push(view: unknown): OwnPropertyContext {
    return new OwnPropertyContext(view, this);
  }

  override lookup(name: string): unknown {
    if (name === '.') return this.view as unknown;
    const [first = '', ...rest] = name.split('.');
    for (let at: Mustache.Context | undefined = this; at; at = at.parent) {
      if (ownProperty(at.view, first) !== undefined) return rest.reduce(ownProperty, ownProperty(at.view, first));
    }
    return undefined;
  }
}

function ownProperty(holder: unknown, name: string): unknown {
  if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, name)) return undefined;
  const value = (holder as Readonly<Record<string, unknown>>)[name];
  return typeof value === 'function' ? undefined : value;
}

// What a template may come to: characters of text, and steps of work.
const maxRenderedCharacters = 1024 * 1024;
const maxSections = 10_000;

// Unknown names are collected while a text is rendered, which is one synchronous call.
class PlainWriter extends Mustache.Writer {
  #unknown = new Set<string>();

  #length = 0;
  #sections = 0;

  renderPlain(text: string, scope: object): { readonly rendered: string; readonly unknown: ReadonlySet<string> } {
    this.#unknown = new Set();
    this.#length = 0;
    this.#sections = 0;
    return { rendered: this.render(text, new OwnPropertyContext(scope)), unknown: this.#unknown };
  }

  override renderTokens(...args: Parameters<Mustache.Writer['renderTokens']>): string {
    if (++this.#sections > maxSections) throw templateLimitFault('sections', maxSections);
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
    if (value !== undefined && value !== null) return this.#countCharacters(String(value));
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
  new Fault('LIMIT_EXCEEDED', `a template comes to more than ${allowed} ${what}; give it less to render`);
