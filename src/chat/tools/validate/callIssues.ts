import { notesKey, notesOf } from '../declaration/readTool.ts';
import { isJsonObject, isList, isOfType, type JsonObject, type JsonValue, stringifyJson } from '../../json/value.ts';
import type { Tool } from '../../tool.ts';
import { alternativeFor, isSameValue, resolvedParameters, type ResolvedSchema } from '../resolvedSchema.ts';
import { truncateMessage } from '../../../protocol/fault.ts';
import type { ToolCallIssue } from '../../../protocol/frames.gen.ts';
import { isGrounded, type UserMentions } from './grounding.ts';

/** The kinds of issues of a call. Clients depend on them, so they are stable. */
export type IssueCode =
  'unknown_tool' | 'missing_param' | 'unexpected_param' | 'wrong_type' | 'not_in_enum' | 'ungrounded_value';

/** One thing that is wrong with a call: a code, the parameter (`address.city`, `list[2]`), and a sentence. */
export interface Issue extends ToolCallIssue {
  readonly code: IssueCode;
}

/** What the values of a call may come from. */
export interface Mentions {
  readonly user: UserMentions;
  /** The system prompt and the results of calls. */
  readonly context: () => UserMentions;
}

/** Validates a call, its arguments already coerced, against the declaration of its tool and where its values come from. */
export function validateCall(name: string, args: JsonObject, tool: Tool | undefined, said: Mentions): readonly Issue[] {
  if (!tool) return [issue('unknown_tool', '', `there is no tool "${name}"`)];
  return [...valueIssues(args, resolvedParameters(tool), ''), ...groundingIssues(args, tool, said)];
}

const issue = (code: IssueCode, param: string, message: string): Issue => ({
  code,
  param,
  message: truncateMessage(message),
});

function* memberIssues(members: JsonObject, schema: ResolvedSchema, path: string): Generator<Issue> {
  const { properties, required = new Set(), additionalProperties = false } = schema;
  const pathOf = (name: string): string => (path === '' ? name : `${path}.${name}`);
  for (const name of required)
    if (!members.has(name)) yield issue('missing_param', pathOf(name), `${pathOf(name)} is required and missing`);
  for (const [name, value] of members) {
    const property = properties?.get(name);
    const isLeftOut = value === null && property && (property.defaults?.includes(null) || !required.has(name));
    if (isLeftOut) continue;
    if (property) yield* valueIssues(value, property, pathOf(name));
    else if (!additionalProperties && !required.has(name))
      yield issue('unexpected_param', pathOf(name), `${pathOf(name)} is no parameter of the tool`);
  }
}

function* valueIssues(value: JsonValue, declared: ResolvedSchema, path: string): Generator<Issue> {
  const schema = alternativeFor(value, declared);
  const { type, enum: allowed, items } = schema;
  if (type && !type.some((each) => isOfType(value, each))) {
    const types = new Set((declared.anyOf ?? [declared]).flatMap(({ type = [] }) => type));
    yield issue('wrong_type', path, `${path} must be of type ${[...types].join(' or ')}, not ${stringifyJson(value)}`);
    return;
  }
  if (allowed && !allowed.some((each) => isSameValue(each, value)))
    yield issue(
      'not_in_enum',
      path,
      `${path} must be one of ${allowed.map(stringifyJson).join(', ')}, not ${stringifyJson(value)}`,
    );
  if (isJsonObject(value) && (schema.properties || path === '')) yield* memberIssues(value, schema, path);
  if (isList(value) && items)
    for (const [index, item] of value.entries()) yield* valueIssues(item, items, `${path}[${index}]`);
}

function* groundingIssues(args: JsonObject, tool: Tool, mentions: Mentions): Generator<Issue> {
  if (![...tool.notes.values()].some(({ source }) => source === 'customer' || source === 'context')) return;
  for (const [name, value] of args) {
    const schema = propertyOf(args, resolvedParameters(tool), name);
    yield* ungroundedValues(value, { path: name, name, schema }, tool, mentions);
  }
}

interface ValuePlace {
  readonly path: string;
  /** Name of the parameter; of an item: that of its list. */
  readonly name: string;
  readonly schema: ResolvedSchema;
}

/** A value is checked as a whole where its `source` is declared; those in it that have another `source` are left out. */
function* ungroundedValues(value: JsonValue, place: ValuePlace, tool: Tool, mentions: Mentions): Generator<Issue> {
  const { path, name, schema } = place;
  const source = sourceOf(tool, path);
  if (source === 'customer' || source === 'context') {
    const isCount = alternativeFor(value, schema).type?.includes('integer') === true && !identifies.test(name);
    const checked = withoutOwnSources(value, path, tool);
    const isSaid = isGrounded(checked, mentions.user, isCount);
    if (source === 'customer' ? !isSaid : isSaid && !isGrounded(checked, mentions.context())) {
      const whose = source === 'customer' ? 'the user never said' : 'only the user said';
      yield issue('ungrounded_value', path, `${path} is ${stringifyJson(checked)}, which ${whose}`);
    }
  }
  if (isJsonObject(value))
    for (const [key, member] of value) {
      const memberPlace = { path: `${path}.${key}`, name: key, schema: propertyOf(value, schema, key) };
      yield* ungroundedValues(member, memberPlace, tool, mentions);
    }
  if (isList(value)) {
    const { items = {} } = alternativeFor(value, schema);
    for (const [index, item] of value.entries())
      yield* ungroundedValues(item, { path: `${path}[${index}]`, name, schema: items }, tool, mentions);
  }
}

function withoutOwnSources(value: JsonValue, path: string, tool: Tool): JsonValue {
  const hasOwnSource = (innerPath: string): boolean => sourceOf(tool, innerPath) !== undefined;
  if (isJsonObject(value)) {
    const members = [...value].filter(([key]) => !hasOwnSource(`${path}.${key}`));
    return new Map(members.map(([key, member]) => [key, withoutOwnSources(member, `${path}.${key}`, tool)]));
  }
  if (!isList(value)) return value;
  return hasOwnSource(`${path}[]`) ? [] : value.map((item) => withoutOwnSources(item, `${path}[]`, tool));
}

const sourceOf = ({ notes }: Tool, path: string) => notes.get(notesKey(path))?.source;

const propertyOf = (members: JsonObject, schema: ResolvedSchema, name: string): ResolvedSchema =>
  alternativeFor(members, schema).properties?.get(name) ?? {};

// Names of integers that are no number of things: `room_number`, `floor`, `itemId`.
const identifies =
  /(?:^|[_-])(?:id|index|number|no|nr|code|level|floor|room|gate|slot|row|column|page|port|channel|year|month|day|hour|minute|age)$|(?:Id|Index|Number|Code|Level)$/;

export interface InsightParam {
  /** The path of the parameter. */
  readonly name: string;
  readonly message: string;
  readonly significance: string;
  readonly examples: readonly unknown[];
  /** Order in which parameters are asked for, lowest first. */
  readonly precedence: number;
  readonly hidden: boolean;
}

/** A detected call that was not sent, and why: its missing and its invalid parameters. */
export interface Insight {
  readonly tool: string;
  /** As the model wrote them: not coerced, not rounded. */
  readonly arguments: JsonObject;
  readonly missing: readonly InsightParam[];
  readonly invalid: readonly InsightParam[];
  /** Why the call could not be read; absent: it was read. */
  readonly unread?: string;
  /** How probable the call is, where it is too low; absent: that is not why it was not sent. */
  readonly confidence?: number;
}

/**
 * The insight that replaces the notification of a call; undefined: the call is sent. Only these calls are not sent: a
 * consequential call with any issue, and any call with a required parameter that is missing or not grounded in what the
 * user has said.
 */
export function createInsight(tool: Tool, args: JsonObject, issues: readonly Issue[]): Insight | undefined {
  const isBlocking = ({ code, param }: Issue): boolean =>
    tool.consequential ||
    code === 'missing_param' ||
    (code === 'ungrounded_value' && notesOf(tool, param).required === true);
  return issues.some(isBlocking) ? toInsight(tool, args, issues) : undefined;
}

/** The insight of a call with these issues. */
export function toInsight(tool: Tool, args: JsonObject, issues: readonly Issue[]): Insight {
  const paramsWith = (missing: boolean): InsightParam[] =>
    issues
      .filter(({ code }) => (code === 'missing_param') === missing)
      .map((each) => toInsightParam(tool, each.param, each.message));
  return { tool: tool.name, arguments: args, missing: paramsWith(true), invalid: paramsWith(false) };
}

/** The part of an insight that templates show: parameters that are not hidden and have the lowest precedence. */
export function visibleInsight({ missing, invalid, ...call }: Insight): Insight {
  const visible = [...missing, ...invalid].filter(({ hidden }) => !hidden);
  const lowest = Math.min(...visible.map(({ precedence }) => precedence));
  const isShown = ({ hidden, precedence }: InsightParam): boolean => !hidden && precedence === lowest;
  return { ...call, missing: missing.filter(isShown), invalid: invalid.filter(isShown) };
}

/** What is declared of a parameter that something is wrong with. */
export function toInsightParam(tool: Tool, param: string, message: string): InsightParam {
  const {
    source,
    significance = '',
    examples = [],
    precedence = 0,
    hidden = source === 'context',
  } = notesOf(tool, param);
  return { name: param, message, significance, examples, precedence, hidden };
}
