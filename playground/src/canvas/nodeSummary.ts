import type { GraphNode } from '../document/graphDocument.ts';

const maxLength = 80;

/** What matters of a node, in one line: what it lists, whether it holds, its model, the beginning of its prompt. */
export function summarizeNode({ params = {} }: GraphNode): string {
  const lists = Object.entries(params).flatMap(([name, value]) =>
    Array.isArray(value) ? [summarizeList(name, value)] : [],
  );
  const flags = Object.entries(params).flatMap(([name, value]) => (value === true ? [name] : []));
  const text = (name: string): string => (typeof params[name] === 'string' ? params[name].trim() : '');
  const storage = text('string_storage');
  const parts = [...lists, storage && `from ${storage}`, text('model_name'), ...flags, text('system_prompt')];
  const summary = parts
    .filter((part) => part !== '')
    .join(' · ')
    .replaceAll(/\s+/g, ' ');
  return summary.length > maxLength ? `${summary.slice(0, maxLength - 1)}…` : summary;
}

/** `2 tools: set_light, get_light`, or the only string of a list of strings. */
function summarizeList(param: string, list: readonly unknown[]): string {
  const noun = nouns.get(param) ?? param;
  const count = list.length === 1 ? `1 ${noun.replace(/s$/, '')}` : `${list.length} ${noun}`;
  const names = list.flatMap((entry) => nameOf(entry) ?? []);
  return names.length > 0 ? `${count}: ${names.join(', ')}` : count;
}

const nouns: ReadonlyMap<string, string> = new Map([['inline_strings', 'strings']]);

const nameOf = (entry: unknown): string | undefined => {
  if (typeof entry === 'string') return entry;
  const { name, function: openAi } = (entry ?? {}) as { readonly name?: unknown; readonly function?: object };
  return typeof name === 'string' ? name : openAi && nameOf(openAi);
};
