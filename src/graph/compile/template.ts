import Mustache from 'mustache';
import { describeError, Fault } from '../../protocol/fault.ts';
import type { ReadResult } from '../../protocol/schema.ts';
import {
  createTemplateData,
  templateMember,
  type TemplateScope,
  templateText,
  templateValue,
  warnOfReservedNames,
} from './templateData.ts';

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
  if (tagError !== undefined) return invalidTemplate(tagError);
  const writer = new LimitedWriter();
  let names: ReadonlySet<string>;
  try {
    const tokens = writer.parse(text) as readonly Token[];
    if (hasPartial(tokens)) return invalidTemplate('uses a partial ({{> ...}}), and graphs have none');
    names = new Set(variableNames(tokens));
  } catch (error) {
    return invalidTemplate(`is not a valid Mustache template: ${describeError(error)}`);
  }
  const render = (turn: TemplateScope): string => {
    const { rendered, unknown } = writer.renderPlain(text, createTemplateData(turn));
    for (const name of unknown) turn.warn(`${place} names {{${name}}}, which this turn does not have`);
    return rendered;
  };
  return { ok: true, value: { text, names, render } };
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

const hasPartial = (tokens: readonly Token[]): boolean =>
  tokens.some(([kind, , , , inner]) => kind === '>' || (typeof inner === 'object' && hasPartial(inner)));

function* variableNames(tokens: readonly Token[]): Generator<string> {
  for (const [kind, name, , , inner] of tokens) {
    if (kind === 'name' || kind === '&' || kind === '#' || kind === '^') yield name;
    if (typeof inner === 'object') yield* variableNames(inner);
  }
}

const invalidTemplate = (message: string): ReadResult<Template> => ({ ok: false, errors: [{ pointer: '', message }] });

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
      if (found !== undefined) return rest.reduce(templateMember, found);
    }
    return undefined;
  }
}

// Limits of one rendering: characters of the result, and sections rendered, which bounds the work of nested loops.
const maxRenderedCharacters = 1024 * 1024;
const maxRenderedSections = 10_000;

// Renders without HTML escaping, counts against the limits, and collects unknown names. The state is that of one
// rendering, which is one synchronous call.
class LimitedWriter extends Mustache.Writer {
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
const callLists: ReadonlySet<string> = new Set(['tool_calls', 'tool_results', 'insights']);
// Of what is in scope within such a list, these do not come from a model.
const ownNames: ReadonlySet<string> = new Set(['content', 'ok', 'tool', 'significance', 'user_message', 'route']);

/**
 * Whether a template may show what a model wrote in the calls of a turn: their names and arguments, but not the results,
 * which the client sends. A section alone shows nothing.
 */
export function showsCalls(template: string): boolean {
  if (!template.includes('{{')) return false;
  return shows(new Mustache.Writer().parse(template) as readonly Token[], { inCalls: false, inArguments: false });
}

interface Scope {
  readonly inCalls: boolean;
  readonly inArguments: boolean;
}

function shows(tokens: readonly Token[], scope: Scope): boolean {
  return tokens.some(([kind, name, , , inner]) => {
    if (kind === 'name' || kind === '&') return isOfModel(name, scope);
    return typeof inner === 'object' && shows(inner, kind === '#' ? enter(name, scope) : scope);
  });
}

function isOfModel(name: string, { inCalls, inArguments }: Scope): boolean {
  const [first = ''] = name.split('.');
  // `.` alone is everything in scope, as JSON.
  if (first === '' || inArguments || callLists.has(first)) return true;
  return inCalls && !ownNames.has(first);
}

function enter(section: string, { inCalls, inArguments }: Scope): Scope {
  const [first = '', ...rest] = section.split('.');
  const isCalls = inCalls || callLists.has(first);
  return { inCalls: isCalls, inArguments: inArguments || (isCalls && [first, ...rest].includes('arguments')) };
}
