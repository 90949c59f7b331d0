import { follow, sourcesIn, targetsIn, type Edges } from './edges.ts';
import type { NodeOutput } from './node.ts';

/** Nodes that offer only selected tools although no node selects any, and nodes whose selection nothing uses. */
export function* lintSelections(names: ReadonlySet<string>, edges: Edges): Generator<string> {
  const [sources, targets] = [sourcesIn(edges), targetsIn(edges)];
  // A type of an extension that says nothing of its output may do either.
  const nodesWith = (fact: 'selects' | 'needsSelection'): readonly string[] =>
    [...edges].filter(([, { output }]) => has(output, fact)).map(([name]) => name);
  const afterSelection = follow(nodesWith('selects').flatMap(targets), targets);
  const beforeNeed = follow(nodesWith('needsSelection').flatMap(sources), sources);
  for (const name of names) {
    const { selects = false, needsSelection = false } = edges.get(name)?.output ?? {};
    if (needsSelection && !afterSelection.has(name))
      yield `${name} offers only selected tools, and no node that selects any leads to it: it never offers one; let a SelectTools lead to it, or set ${name}.params.tools_from to "node"`;
    if (selects && !beforeNeed.has(name))
      yield `${name} selects tools, and no node after it offers only these; set "tools_from": "selection" in a ToolCall after it`;
  }
}

const has = (output: NodeOutput | undefined, fact: 'selects' | 'needsSelection'): boolean =>
  output === undefined || output[fact] === true;
