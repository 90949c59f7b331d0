import type { NodePlan } from './createNodes.ts';
import type { NodeEffects } from './node.ts';

/** A node of a graph, as the warnings and the audit see it. */
export interface AnalysedNode extends Pick<NodePlan, 'exits' | 'targets'> {
  readonly name: string;
  readonly type: string;
  /** The exits that it never takes with its parameters. */
  readonly unusedExits: readonly string[];
  /** undefined: its type does not declare them. */
  readonly effects: NodeEffects | undefined;
  /** Whether its type has the parameter `hold`. */
  readonly canHold: boolean;
}

export type AnalysedNodes = ReadonlyMap<string, AnalysedNode>;

/** Finds out what a node with its exits and effects can do. */
export function analyseNode(
  name: string,
  { type, exits, targets }: Pick<NodePlan, 'type' | 'exits' | 'targets'>,
  effects: NodeEffects | undefined,
): AnalysedNode {
  const isUnused = (exit: string): boolean => effects?.unusedExits?.includes(exit) ?? false;
  return {
    name,
    type: type.type,
    exits: exits.filter((exit) => !isUnused(exit)),
    unusedExits: exits.filter(isUnused),
    targets,
    effects,
    canHold: Object.hasOwn(type.params.properties, 'hold'),
  };
}

function follow(
  starts: readonly (string | undefined)[],
  targetsOf: (name: string) => readonly (string | undefined)[],
): ReadonlySet<string> {
  const found = new Set<string>();
  const pending: (string | undefined)[] = [...starts];
  while (pending.length > 0) {
    const name = pending.pop();
    if (name === undefined || found.has(name)) continue;
    found.add(name);
    pending.push(...targetsOf(name));
  }
  return found;
}

function targetsOf(node: AnalysedNode | undefined): readonly string[] {
  if (!node) return [];
  const { exits, targets } = node;
  return exits.flatMap((exit) => targets.get(exit) ?? []);
}

function sourcesIn(nodes: AnalysedNodes): (target: string) => readonly string[] {
  const sources = new Map<string, Set<string>>();
  for (const [name, node] of nodes)
    for (const target of targetsOf(node)) sources.set(target, (sources.get(target) ?? new Set()).add(name));
  return (target) => [...(sources.get(target) ?? [])];
}

/**
 * Graph linter: yields a warning for each thing that is valid but probably a mistake (unreachable nodes, endless loops,
 * turns without a word, answers that are checked after they were sent, or held and not checked, tools that are never selected).
 */
export function* lintGraph(start: string, nodes: AnalysedNodes): Generator<string> {
  // Exits that are not used count, too: parameters may be live.
  const reached = follow([start], (name) => [...(nodes.get(name)?.targets.values() ?? [])]);
  for (const name of nodes.keys()) if (!reached.has(name)) yield `${name} is unreachable: no exit leads to it`;
  const endsTurn = ({ exits, targets }: AnalysedNode): boolean => exits.some((exit) => !targets.has(exit));
  const last = [...nodes].flatMap(([name, node]) => (endsTurn(node) ? [name] : []));
  const ending = follow(last, sourcesIn(nodes));
  const endless = [...reached].filter((name) => !ending.has(name));
  if (endless.length > 0)
    yield `${endless.join(', ')}: no exit ends the turn from there; only the step budget will (max_steps_per_turn)`;
  for (const [name, node] of nodes) {
    const { type, exits, targets, effects } = node;
    if (effects?.informsLaterNodes || silentExitsOf(node).length < exits.length) continue;
    const [target, ...others] = new Set(exits.map((exit) => targets.get(exit)));
    if (target !== undefined && exits.length > 1 && others.length === 0)
      yield `${name}.exits all lead to "${target}": what this ${type} finds out changes nothing`;
  }
  yield* silentTurns(start, nodes);
  for (const name of reached) yield* lateChecks(name, nodes);
  for (const name of reached) yield* uncheckedHolds(name, nodes);
  yield* lintSelections(reached, nodes);
}

/** Parameters and connected exits that have no effect, because another parameter has no value. */
export function* lintNeeds(plans: ReadonlyMap<string, NodePlan>): Generator<string> {
  for (const [name, { type, rawParams, params, connectedExits }] of plans) {
    const given = new Set([...Object.keys(rawParams), ...connectedExits.map((exit) => `exits.${exit}`)]);
    for (const [what, needed] of Object.entries(type.needs)) {
      if (!given.has(what) || params[needed]) continue;
      const place = what.startsWith('exits.') ? what : `params.${what}`;
      yield `${name}.${place} has no effect without "${needed}"; set ${name}.params.${needed}, or remove it`;
    }
  }
}

const silentExitsOf = (node: AnalysedNode | undefined): readonly string[] =>
  node?.effects?.silentExits?.filter((exit) => node.exits.includes(exit)) ?? [];

const onlyRoutes = (node: AnalysedNode | undefined): boolean =>
  node?.effects !== undefined && textOf(node) === undefined && silentExitsOf(node).length === node.exits.length;

/** When the text of a node reaches the client: at once, or at the end of the turn; undefined: it has none, or it is not known. */
function textOf(node: AnalysedNode | undefined): 'sent' | 'held' | undefined {
  const { held, sends = [] } = node?.effects ?? {};
  if (held === 'replaced') return 'held';
  return held === 'discarded' || sends.length > 0 ? 'sent' : undefined;
}

/** The exit that a node takes because of the answer so far; undefined: it does not read it. */
function answerExitOf(node: AnalysedNode | undefined): string | undefined {
  const { guards } = node?.effects ?? {};
  return guards?.watch === 'answer' ? node?.exits.find((exit) => exit !== guards.exit) : undefined;
}

/** Exits by which a turn can end although the client got nothing. */
function* silentTurns(start: string, nodes: AnalysedNodes): Generator<string> {
  const silentTargets = (name: string): readonly (string | undefined)[] =>
    silentExitsOf(nodes.get(name)).map((exit) => nodes.get(name)?.targets.get(exit));
  const canEndSilently = (name: string | undefined): boolean =>
    name === undefined || [...follow([name], silentTargets)].some((node) => silentTargets(node).includes(undefined));
  const isRouter = (name: string): boolean => onlyRoutes(nodes.get(name));
  // Behind a node that could have answered, that one is named, not those that only route.
  const firstRouters = follow([start], (name) => (isRouter(name) ? silentTargets(name) : []));
  for (const name of follow([start], silentTargets)) {
    if (isRouter(name) && !firstRouters.has(name)) continue;
    const node = nodes.get(name);
    const endsSilently = (exit: string): boolean =>
      isRouter(name) ? node?.targets.get(exit) === undefined : canEndSilently(node?.targets.get(exit));
    for (const exit of silentExitsOf(node).filter(endsSilently))
      yield `${name}.exits.${exit} can end a turn in which the client gets neither a text nor a call; lead it to a node that answers`;
  }
}

/** Nodes whose text was sent before another node checks the answer: what the check finds comes too late. */
function* lateChecks(checker: string, nodes: AnalysedNodes): Generator<string> {
  const node = nodes.get(checker);
  const exit = answerExitOf(node);
  if (exit === undefined) return;
  const followers = [...follow([node?.targets.get(exit)], (name) => targetsOf(nodes.get(name)))];
  const added = followers.find((name) => textOf(nodes.get(name)) !== undefined);
  // A check may also decide whether a call is to be detected.
  if (added === undefined && !followers.every((name) => onlyRoutes(nodes.get(name)))) return;
  // Or whether the turn goes on: the answer so far is then all that the client is to get.
  const goesOn = node?.exits.some((other) => other !== exit && node.targets.has(other));
  if (added === undefined && followers.length === 0 && goesOn) return;
  const leadsTo = sourcesIn(nodes);
  for (const name of follow(leadsTo(checker), leadsTo)) {
    const checked = nodes.get(name);
    if (textOf(checked) !== 'sent') continue;
    const what = `${checker} checks the answer of ${name} after it was sent`;
    const fix = checked?.canHold ? `set ${name}.params.hold` : `let a node with "hold" answer instead of ${name}`;
    if (added !== undefined) yield `${what}: the client gets it, and the text of ${added} as well; ${fix}`;
    else
      yield `${what}: the client keeps it, whatever is found; ${fix}, and lead ${checker}.exits.${exit} to what replaces it`;
  }
}

function* uncheckedHolds(name: string, nodes: AnalysedNodes): Generator<string> {
  const node = nodes.get(name);
  if (textOf(node) !== 'held') return;
  const followers = follow(targetsOf(node), (follower) => targetsOf(nodes.get(follower)));
  const mayCheck = (follower: string): boolean => {
    const { effects } = nodes.get(follower) ?? {};
    return effects === undefined || effects.guards?.watch === 'answer';
  };
  if ([...followers].some(mayCheck)) return;
  yield `${name} holds its answer back, and no Guardrail checks it: the client only gets it later; remove ${name}.params.hold, or let a Guardrail with "watch": "answer" follow`;
}

/** Nodes that wait for a selection that no node makes, tools that no node selects, and selections that nothing uses. */
export function* lintSelections(names: ReadonlySet<string>, nodes: AnalysedNodes): Generator<string> {
  const targets = (name: string): readonly string[] => targetsOf(nodes.get(name));
  const sources = sourcesIn(nodes);
  // A type of an extension that does not declare its effects may do either.
  const nodesWith = (effect: 'selects' | 'needsSelection'): readonly string[] =>
    [...nodes].filter(([, { effects }]) => effects === undefined || isStated(effects[effect])).map(([name]) => name);
  const selected = selectedTools(nodesWith('selects'), nodes);
  const afterSelection = follow(nodesWith('selects').flatMap(targets), targets);
  const beforeNeed = follow(nodesWith('needsSelection').flatMap(sources), sources);
  for (const name of names) {
    const { selects, needsSelection } = nodes.get(name)?.effects ?? {};
    if (isStated(needsSelection) && !afterSelection.has(name))
      yield `${name} offers only selected tools, and no node that selects any leads to it: it never offers one; let a SelectTools lead to it, or set ${name}.params.tools_from to "node"`;
    else if (selected && typeof needsSelection === 'object')
      for (const tool of needsSelection.filter((tool) => !selected.has(tool)))
        yield `${name} offers only selected tools, and no node selects "${tool}": it is never offered; name it in a guideline`;
    if (isStated(selects) && !beforeNeed.has(name))
      yield `${name} selects tools, and no node after it offers only these; set "tools_from": "selection" in a ToolCall after it`;
  }
}

/** Whether effects say that a node selects tools, or needs a selection. */
export const isStated = (tools: boolean | readonly string[] | undefined): boolean =>
  tools !== undefined && tools !== false;

/** The tools that nodes select; undefined where one does not say which. */
function selectedTools(names: readonly string[], nodes: AnalysedNodes): ReadonlySet<string> | undefined {
  const lists = names.map((name) => nodes.get(name)?.effects?.selects);
  return lists.every((list) => typeof list === 'object') ? new Set(lists.flat()) : undefined;
}
