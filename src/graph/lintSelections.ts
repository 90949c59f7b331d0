import { follow, sourcesIn, targetsIn, type Edges } from './edges.ts';
import type { NodeOutput } from './node.ts';

/** Nodes that offer only selected tools although no node selects any, and nodes whose selection nothing uses. */
export function* lintSelections(names: ReadonlySet<string>, edges: Edges): Generator<string> {
  // A type of an extension that says nothing of its output may do either.
  const some = (nodes: ReadonlySet<string>, fact: 'selects' | 'needsSelection'): boolean =>
    [...nodes].some((name) => has(edges.get(name)?.output, fact));
  for (const name of names) {
    const { selects = false, needsSelection = false } = edges.get(name)?.output ?? {};
    if (needsSelection && !some(follow(sourcesIn(edges)(name), sourcesIn(edges)), 'selects'))
      yield `${name} offers only selected tools, and no node that selects any leads to it: it never offers one; let a SelectTools lead to it, or set ${name}.params.tools_from to "node"`;
    if (selects && !some(follow(targetsIn(edges)(name), targetsIn(edges)), 'needsSelection'))
      yield `${name} selects tools, and no node after it offers only these; set "tools_from": "selection" in a ToolCall after it`;
  }
}

const has = (output: NodeOutput | undefined, fact: 'selects' | 'needsSelection'): boolean =>
  output === undefined || output[fact] === true;
