import type { NodePlan } from './createNodes.ts';
import { unnameableSources } from './knowledgeNames.ts';

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

  /** Warnings of names that nodes cannot use. */
  warnings(): Generator<string> {
    return unnameableSources(this.#sources);
  }

  /** Reads what a node declares with its parameters. */
  set(nodeName: string, { type, params }: Declarer): void {
    this.#toolNames.set(nodeName, type.toolNames(params));
    const source = type.knowledgeSource(params, nodeName);
    if (source !== undefined) this.#sources.set(nodeName, source);
  }
}
