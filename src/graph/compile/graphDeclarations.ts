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
    const source = type.knowledgeSource(params, nodeName);
    if (source !== undefined) this.#sources.set(nodeName, source);
  }
}

// What mustache reads as one name: a dot would be a member.
const sourcePattern = /^[\p{L}\p{N}_-]+(?: [\p{L}\p{N}_-]+)*$/u;

/** Compiles the template of a parameter, and warns as `warnOfUnknownKnowledge`. @throws InvalidParams */
export function templateParam(name: string, text: string, context: NodeContext): Template {
  const place = `${context.nodeName}.params.${name}`;
  const template = unwrapParam(`/${name}`, compileTemplate(text, place));
  warnOfUnknownKnowledge(template, place, context);
  return template;
}

// Each is compared with all sources.
const maxCheckedNames = 100;

/** Warns of names of knowledge that no node finds: their sections stay empty. @param place names the template. */
export function warnOfUnknownKnowledge(
  { names }: Pick<Template, 'names'>,
  place: string,
  { knowledgeSources, warn }: Pick<NodeContext, 'knowledgeSources' | 'warn'>,
): void {
  const used = new Set([...names].map((name) => name.split('.')[0] ?? ''));
  const ofKnowledge = [...used]
    .filter((name) => name === 'knowledge' || name.startsWith(knowledgePrefix))
    .slice(0, maxCheckedNames);
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
