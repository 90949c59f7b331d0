import { didYouMean } from '../../base/didYouMean.ts';
import { knowledgePrefix } from './turn.ts';
import { type NodeContext, unwrapParam } from './node.ts';
import { compileTemplate, type Template } from './template.ts';
import type { NodePlan } from './createNodes.ts';

/** What the nodes of a graph declare for each other; undefined: not all is known, for a node has no valid parameters. */
export type GraphDeclarations = Pick<NodeContext, 'toolNames' | 'knowledgeSources' | 'fieldNames'>;

type Declarer = readonly [name: string, node: Pick<NodePlan, 'type' | 'params'>];

/** @param nodes those with valid parameters, as they are when a name is asked for. @param isComplete whether these are all. */
export function graphDeclarations(nodes: ReadonlyMap<string, NodePlan>, isComplete: boolean): GraphDeclarations {
  const namesOf = (declared: (node: Declarer) => readonly string[]) => () =>
    isComplete ? new Set([...nodes].flatMap(declared)) : undefined;
  return {
    toolNames: namesOf(([, { type, params }]) => type.toolNames(params)),
    knowledgeSources: namesOf(sourcesOf),
    fieldNames: namesOf(([, { type, params }]) => type.fieldNames(params)),
  };
}

function sourcesOf([name, { type, params }]: Declarer): readonly string[] {
  const source = type.knowledgeSource(params, name);
  return source === undefined ? [] : [source];
}

/** Warnings of sources whose chunks no template can name. */
export function* lintSources(nodes: ReadonlyMap<string, NodePlan>): Generator<string> {
  for (const node of nodes)
    for (const source of sourcesOf(node).filter((source) => !sourcePattern.test(source)))
      yield `${node[0]} finds knowledge for "${source}", and no template can name {{${knowledgePrefix}${source}}}: use letters, digits, _ and - only`;
}

/** What names of fields of an answer begin with, in templates and conditions. */
export const fieldPrefix = 'fields.';

// What mustache reads as one name: a dot would be a member.
const sourcePattern = /^[\p{L}\p{N}_-]+(?: [\p{L}\p{N}_-]+)*$/u;

/** Compiles the template of a parameter, and warns as `warnOfUnknownNames`. @throws InvalidParams */
export function templateParam(name: string, text: string, context: NodeContext): Template {
  const place = `${context.nodeName}.params.${name}`;
  const template = unwrapParam(`/${name}`, compileTemplate(text, place));
  warnOfUnknownNames(template, place, context);
  return template;
}

// Each is compared with all that nodes declare.
const maxCheckedNames = 100;

/** Warns of knowledge that no node finds, and fields in which none answers: they stay empty. @param place names the template. */
export function warnOfUnknownNames({ names }: Pick<Template, 'names'>, place: string, context: NodeContext): void {
  warnOfUnknownFields(names, place, context);
  const used = new Set([...names].map((name) => name.split('.')[0] ?? ''));
  const ofKnowledge = [...used]
    .filter((name) => name === 'knowledge' || name.startsWith(knowledgePrefix))
    .slice(0, maxCheckedNames);
  const sources = ofKnowledge.length > 0 ? context.knowledgeSources() : undefined;
  if (!sources) return;
  for (const name of ofKnowledge) {
    const source = name.slice(knowledgePrefix.length);
    if (name === 'knowledge' ? sources.size > 0 : sources.has(source)) continue;
    const what = name === 'knowledge' ? 'any knowledge' : `knowledge for "${source}"${didYouMean(source, sources)}`;
    context.warn(`${place} names {{${name}}}, and no node of the graph finds ${what}`);
  }
}

/** Warns of names like `fields.mood` that no node has in its answer_fields. */
export function warnOfUnknownFields(
  names: Iterable<string>,
  place: string,
  { fieldNames, warn }: Pick<NodeContext, 'fieldNames' | 'warn'>,
): void {
  const ofFields = [...names].filter((name) => name.startsWith(fieldPrefix)).slice(0, maxCheckedNames);
  const known = ofFields.length > 0 ? fieldNames() : undefined;
  if (!known) return;
  for (const name of ofFields) {
    const field = name.slice(fieldPrefix.length);
    if (known.has(field)) continue;
    warn(`${place} names "${name}", and no answer_fields of the graph have "${field}"${didYouMean(field, known)}`);
  }
}
