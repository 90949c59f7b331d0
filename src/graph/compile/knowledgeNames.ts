import { didYouMean } from '../../base/didYouMean.ts';
import { knowledgePrefix } from './knowledgeBlock.ts';
import type { NodeContext } from './node.ts';
import type { Template } from './template.ts';

// What mustache reads as one name: a dot would be a member.
const sourcePattern = /^[\p{L}\p{N}_-]+(?: [\p{L}\p{N}_-]+)*$/u;

/** Warns of sources, by node, whose chunks no template can name. */
export function* unnameableSources(sources: ReadonlyMap<string, string>): Generator<string> {
  for (const [node, source] of sources) {
    if (sourcePattern.test(source)) continue;
    yield `${node} finds knowledge for "${source}", and no template can name {{${knowledgePrefix}${source}}}: use letters, digits, _ and - only`;
  }
}

/**
 * Warns of names of knowledge in a template that no node of the graph finds: a section with such a name is empty in
 * every turn, without a warning of the turn.
 * @param place names the template.
 */
export function warnOfUnknownKnowledge(
  { names }: Pick<Template, 'names'>,
  place: string,
  { knowledgeSources, warn }: Pick<NodeContext, 'knowledgeSources' | 'warn'>,
): void {
  const used = new Set([...names].map((name) => name.split('.')[0] ?? ''));
  const ofKnowledge = [...used].filter((name) => name === 'knowledge' || name.startsWith(knowledgePrefix));
  if (ofKnowledge.length === 0) return;
  const sources = knowledgeSources();
  if (!sources) return;
  for (const name of ofKnowledge) {
    const source = name.slice(knowledgePrefix.length);
    if (name === 'knowledge' ? sources.size > 0 : sources.has(source)) continue;
    const what = name === 'knowledge' ? 'any knowledge' : `knowledge for "${source}"${didYouMean(source, sources)}`;
    warn(`${place} names {{${name}}}, and no node of the graph finds ${what}`);
  }
}
