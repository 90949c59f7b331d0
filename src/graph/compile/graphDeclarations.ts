import { didYouMean } from '../../base/didYouMean.ts';
import { knowledgePrefix } from './turn.ts';
import { type NodeContext, unwrapParam } from './node.ts';
import { compileTemplate, type Template } from './template.ts';
import type { NodePlan } from './createNodes.ts';

type Declarer = Pick<NodePlan, 'type' | 'params'>;

/** What the nodes of a graph declare for each other; it follows their parameters. */
export class GraphDeclarations {
  readonly #toolNames = new Map<string, readonly string[]>();
  readonly #sources = new Map<string, string>();
  readonly #fieldNames = new Map<string, readonly string[]>();
  readonly #isComplete: boolean;

  /** @param isComplete whether the graph has no other nodes, whose parameters are not valid. */
  constructor(nodes: ReadonlyMap<string, Declarer>, isComplete: boolean) {
    this.#isComplete = isComplete;
    for (const [name, node] of nodes) this.set(name, node);
  }

  /** The names of all tools; undefined: not all are known. */
  toolNames(): ReadonlySet<string> | undefined {
    return this.#isComplete ? new Set([...this.#toolNames.values()].flat()) : undefined;
  }

  /** The names of all blocks of knowledge; undefined: not all are known. */
  knowledgeSources(): ReadonlySet<string> | undefined {
    return this.#isComplete ? new Set(this.#sources.values()) : undefined;
  }

  /** The names of all fields of answers; undefined: not all are known. */
  fieldNames(): ReadonlySet<string> | undefined {
    return this.#isComplete ? new Set([...this.#fieldNames.values()].flat()) : undefined;
  }

  /** Warnings of sources, by node, whose chunks no template can name. */
  *warnings(): Generator<string> {
    for (const [node, source] of this.#sources) {
      if (sourcePattern.test(source)) continue;
      yield `${node} finds knowledge for "${source}", and no template can name {{${knowledgePrefix}${source}}}: use letters, digits, _ and - only`;
    }
  }

  /** Reads what a node declares with its parameters. */
  set(nodeName: string, { type, params }: Declarer): void {
    this.#toolNames.set(nodeName, type.toolNames(params));
    this.#fieldNames.set(nodeName, type.fieldNames(params));
    const source = type.knowledgeSource(params, nodeName);
    if (source !== undefined) this.#sources.set(nodeName, source);
  }
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
  if (ofKnowledge.length === 0) return;
  const sources = context.knowledgeSources();
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
  const known = fieldNames();
  const ofFields = [...names].filter((name) => name.startsWith(fieldPrefix)).slice(0, maxCheckedNames);
  for (const name of known ? ofFields : []) {
    const field = name.slice(fieldPrefix.length);
    if (known?.has(field)) continue;
    warn(
      `${place} names "${name}", and no answer_fields of the graph have "${field}"${didYouMean(field, known ?? [])}`,
    );
  }
}
