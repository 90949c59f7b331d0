import { follow, sourcesIn, targetsIn, type Edges } from './edges.ts';
import type { NodeOutput } from './node.ts';

/**
 * Nodes that offer only selected tools although no node selects any, tools of them that no node selects, and nodes whose
 * selection nothing uses.
 */
export function* lintSelections(names: ReadonlySet<string>, edges: Edges): Generator<string> {
  const [sources, targets] = [sourcesIn(edges), targetsIn(edges)];
  // A type of an extension that says nothing of its output may do either.
  const nodesWith = (fact: 'selects' | 'needsSelection'): readonly string[] =>
    [...edges].filter(([, { output }]) => has(output, fact)).map(([name]) => name);
  const selected = toolsOf(nodesWith('selects'), edges);
  const afterSelection = follow(nodesWith('selects').flatMap(targets), targets);
  const beforeNeed = follow(nodesWith('needsSelection').flatMap(sources), sources);
  for (const name of names) {
    const { selects, needsSelection } = edges.get(name)?.output ?? {};
    if (isStated(needsSelection) && !afterSelection.has(name))
      yield `${name} offers only selected tools, and no node that selects any leads to it: it never offers one; let a SelectTools lead to it, or set ${name}.params.tools_from to "node"`;
    else if (selected && typeof needsSelection === 'object')
      for (const tool of needsSelection.filter((tool) => !selected.has(tool)))
        yield `${name} offers only selected tools, and no node selects "${tool}": it is never offered; name it in a guideline`;
    if (isStated(selects) && !beforeNeed.has(name))
      yield `${name} selects tools, and no node after it offers only these; set "tools_from": "selection" in a ToolCall after it`;
  }
}

const has = (output: NodeOutput | undefined, fact: 'selects' | 'needsSelection'): boolean =>
  output === undefined || isStated(output[fact]);

const isStated = (tools: NodeOutput['selects']): boolean => tools !== undefined && tools !== false;

/** The tools that nodes select; undefined where one does not say which. */
function toolsOf(nodes: readonly string[], edges: Edges): ReadonlySet<string> | undefined {
  const lists = nodes.map((name) => edges.get(name)?.output?.selects);
  return lists.every((list) => typeof list === 'object') ? new Set(lists.flat()) : undefined;
}
