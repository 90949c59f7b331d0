import Mustache from 'mustache';

// A token of mustache's parser; `inner` are the tokens of a section.
type Token = readonly [kind: string, name: string, start: number, end: number, inner?: readonly Token[] | string];

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
