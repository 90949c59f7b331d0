import { parseJsonAt } from '../../chat/json/lenientParser.ts';
import { JsonNumber, stringifyJson, type JsonObject, type JsonValue } from '../../chat/json/value.ts';
import { visibleInsight } from '../../chat/tools/validate/callIssues.ts';
import { knowledgeVariables, answeredCalls, type Call, type Turn } from './turn.ts';

/** The part of a turn that a template reads. */
export type TemplateScope = Pick<Turn, 'message' | 'variables' | 'calls' | 'insights' | 'exchanges' | 'warn'> &
  Partial<Pick<Turn, 'selection' | 'route' | 'knowledge'>>;

// Names that templates have in scope in addition to the variables of the message.
const reservedNames = [
  'user_message',
  'tool_calls',
  'tool_results',
  'insights',
  'guidelines',
  'route',
  'knowledge',
] as const;

// Characters of JSON in the results of one turn. A template is rendered in one synchronous call.
const maxResultJson = 512 * 1024;

/** Warns of variables that templates do not see, because the turn has values of these names. */
export function warnOfReservedNames(turn: TemplateScope): void {
  for (const name of [...reservedNames, ...Object.keys(knowledgeVariables(turn.knowledge ?? []))]) {
    if (Object.hasOwn(turn.variables, name)) turn.warn(`variables.${name} is not used: the name belongs to the turn`);
  }
}

/** The values that a template has in scope. JSON of calls and results is parsed when a template reads it, and once. */
export function createTemplateData(turn: TemplateScope): object {
  warnOfReservedNames(turn);
  const turnData = {
    user_message: turn.message,
    tool_calls: turn.calls.map(toTemplateCall),
    tool_results: toTemplateResults(turn),
    insights: turn.insights.map(visibleInsight),
    guidelines: turn.selection?.guidelines ?? [],
    route: turn.route ?? '',
    knowledge: turn.knowledge ?? [],
    ...knowledgeVariables(turn.knowledge ?? []),
  };
  return { ...turn.variables, ...turnData };
}

/** A member of a value, for templates: own members only, and no functions, so that a template cannot reach prototypes. */
export function templateMember(holder: unknown, name: string): unknown {
  if (holder instanceof Map) return templateValue((holder as JsonObject).get(name));
  if (typeof holder !== 'object' || holder === null || holder instanceof JsonNumber) return undefined;
  if (!Object.hasOwn(holder, name)) return undefined;
  const value = (holder as Readonly<Record<string, unknown>>)[name];
  return typeof value === 'function' ? undefined : templateValue(value);
}

/** A value as templates see it: numbers of calls have all their digits. */
export const templateValue = (value: unknown): unknown => (value instanceof JsonNumber ? value.digits : value);

/** The text that a value renders as: objects and lists as their JSON. */
export const templateText = (value: unknown): string =>
  typeof value === 'object' ? stringifyJson(value) : String(value);

const toTemplateCall = (call: Call): object => ({
  name: call.name,
  get arguments() {
    return parsedJson(call, call.typedArguments);
  },
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
        if (!isTooMuch) return parsedJson(call, content) ?? content;
        warn(warning);
        return content;
      },
    };
  });
}

const parsedTexts = new WeakMap<object, JsonValue | undefined>();

/** The JSON of a call or result; undefined: the text is none. */
function parsedJson(owner: object, text: string): JsonValue | undefined {
  if (!parsedTexts.has(owner)) {
    const parsed = parseJsonAt(text, 0);
    parsedTexts.set(owner, parsed.ok && text.slice(parsed.end).trim() === '' ? parsed.value : undefined);
  }
  return parsedTexts.get(owner);
}
