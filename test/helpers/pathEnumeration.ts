import { randomLines, type PlainGraph, type PlainNode } from './randomGraphs.ts';

// What the nodes of random graphs do in a turn, told a second time and without the facts that node types declare. Paths are
// enumerated one by one. The audit has to find the same.

/** A turn on a path, as far as texts go. */
export interface PathTurn {
  /** Whether the message has passed a Guardrail. */
  readonly hasPassed: boolean;
  /** The held answer: whether a model wrote it, and whether a Guardrail has seen it. */
  readonly held: 'none' | 'unchecked' | 'checked';
  readonly hasCalls: boolean;
  /** Whether a model ran on a message that had not passed. */
  readonly hasInferred: boolean;
  /** Whether the client got an unchecked text of a model. */
  readonly hasLeaked: boolean;
}

const newTurn: PathTurn = { hasPassed: false, held: 'none', hasCalls: false, hasInferred: false, hasLeaked: false };

interface Outcome {
  readonly exit: string;
  readonly turn: PathTurn;
}

const runModel = (turn: PathTurn): PathTurn => ({ ...turn, hasInferred: turn.hasInferred || !turn.hasPassed });
const sayModelText = (turn: PathTurn): PathTurn => ({ ...turn, hasLeaked: true });

/** Everything that a node may do in a turn. */
function outcomesOf({ type, params }: PlainNode, turn: PathTurn): readonly Outcome[] {
  switch (type) {
    case 'Guardrail': {
      const { inline_strings: strings = [], watch } = params as { inline_strings?: string[]; watch?: string };
      if (strings.length === 0) return [{ exit: 'not_triggered', turn }];
      const isAnswer = watch === 'answer';
      const held = isAnswer && turn.held === 'unchecked' ? 'checked' : turn.held;
      const passed = { ...turn, held, hasPassed: turn.hasPassed || !isAnswer };
      return [
        { exit: 'triggered', turn },
        { exit: 'not_triggered', turn: passed },
      ];
    }
    case 'Generate': {
      const after = runModel(turn);
      return [
        { exit: 'default', turn: params['hold'] === true ? { ...after, held: 'unchecked' } : sayModelText(after) },
      ];
    }
    case 'CannedResponse': {
      const [line = ''] = (params['inline_strings'] ?? []) as string[];
      const released: PathTurn = { ...turn, held: 'none' };
      if ('key' in params) return ['default', 'missing'].map((exit) => ({ exit, turn: released }));
      return [
        { exit: 'default', turn: turn.hasCalls && randomLines.get(line) === true ? sayModelText(released) : released },
      ];
    }
    case 'ToolCall': {
      const speaks = params['generate_on_no_tool'] === true;
      if (params['tool_choice'] === 'none')
        return [{ exit: 'no_tool_called', turn: speaks ? sayModelText(runModel(turn)) : turn }];
      const after = { ...runModel(turn), hasCalls: true };
      const results = params['await_results'] === true ? [{ exit: 'no_results', turn: after }] : [];
      return [
        { exit: 'tool_called', turn: after },
        { exit: 'no_tool_called', turn: speaks ? sayModelText(after) : after },
        ...results,
      ];
    }
    case 'Route': {
      const {
        labels,
        match,
        threshold = 0,
      } = params as {
        labels: { name: string; patterns?: string[] }[];
        match?: string;
        threshold?: number;
      };
      if (match === 'patterns') {
        const chosen = labels.filter((label) => (label.patterns ?? []).length > 0).map(({ name }) => name);
        return [...chosen, 'not_matched'].map((exit) => ({ exit, turn }));
      }
      const names = labels.map(({ name }) => name);
      const exits = threshold > 0 && names.length > 1 ? [...names, 'not_matched'] : names;
      return exits.map((exit) => ({ exit, turn: runModel(turn) }));
    }
    case 'SelectTools': {
      const after = params['match'] === 'model' ? runModel(turn) : turn;
      return ['matched', 'none_matched'].map((exit) => ({ exit, turn: after }));
    }
    case 'Retrieve': {
      const { inline_strings: strings } = params as { inline_strings: string[] };
      return [...(strings.length > 0 ? ['found'] : []), 'not_found'].map((exit) => ({ exit, turn }));
    }
    default:
      throw new Error(`no such type: ${type}`);
  }
}

/** The next node of an exit; undefined: the turn ends. */
const nextOf = (node: PlainNode, exit: string): string | undefined => node.exits[exit] || undefined;

const endTurn = (turn: PathTurn): PathTurn => (turn.held === 'unchecked' ? { ...turn, hasLeaked: true } : turn);

function nodeIn(graph: PlainGraph, name: string): PlainNode {
  const node = graph.nodes[name];
  if (!node) throw new Error(`no node ${name}`);
  return node;
}

/** What all paths of a graph together show. */
export interface EnumeratedPaths {
  /** The number of nodes of the shortest path on which a model runs on an unchecked message, and on which a text leaks. */
  readonly shortestInference: number | undefined;
  readonly shortestLeak: number | undefined;
  readonly visited: ReadonlySet<string>;
  readonly paths: number;
}

/** Enumerates all paths on which no node comes twice with the same turn: going on from there has been tried before. */
export function enumeratePaths(graph: PlainGraph): EnumeratedPaths {
  const visited = new Set<string>();
  let [shortestInference, shortestLeak] = [Infinity, Infinity];
  let paths = 0;
  const walk = (name: string, turn: PathTurn, before: readonly string[]): void => {
    const here = `${name} ${Object.values(turn).join(' ')}`;
    if (before.includes(here)) return void paths++;
    visited.add(name);
    const path = [...before, here];
    const node = nodeIn(graph, name);
    for (const { exit, turn: after } of outcomesOf(node, turn)) {
      const next = nextOf(node, exit);
      const ended = next === undefined ? endTurn(after) : after;
      if (ended.hasInferred) shortestInference = Math.min(shortestInference, path.length);
      if (ended.hasLeaked) shortestLeak = Math.min(shortestLeak, path.length);
      if (next === undefined) paths++;
      // What has happened once is known; the walk goes on for what has not.
      else walk(next, { ...after, hasInferred: false, hasLeaked: false }, path);
    }
  };
  walk(graph.start_node, newTurn, []);
  const found = (length: number): number | undefined => (length === Infinity ? undefined : length);
  return { shortestInference: found(shortestInference), shortestLeak: found(shortestLeak), visited, paths };
}

/** A path that a report gives. */
type Path = readonly { readonly node: string; readonly exit?: string }[];

/**
 * Follows a path of a report up to the node that makes something happen whatever it does.
 * @returns the number of nodes up to that one; undefined: it does not happen.
 * @throws Error where it is no path of the graph, or goes on for more than one node after that.
 */
export function nodesUntil(graph: PlainGraph, path: Path, happens: (turn: PathTurn) => boolean): number | undefined {
  if (path[0]?.node !== graph.start_node) throw new Error('the path does not begin at the start');
  let turn = newTurn;
  for (const [index, { node: name, exit }] of path.entries()) {
    const node = nodeIn(graph, name);
    const outcomes = outcomesOf(node, turn);
    const left = path.length - 1 - index;
    if (exit === undefined) {
      if (left > 0) throw new Error(`the path has no exit of ${name}`);
      return outcomes.every((outcome) => happens(outcome.turn)) ? path.length : undefined;
    }
    const taken = outcomes.find((outcome) => outcome.exit === exit);
    if (!taken) throw new Error(`${name} never takes ${exit}`);
    const next = nextOf(node, exit);
    if (next !== path[index + 1]?.node) throw new Error(`${name} does not lead there by ${exit}`);
    turn = next === undefined ? endTurn(taken.turn) : taken.turn;
    if (!happens(turn)) continue;
    if (left > 1) throw new Error(`the path goes on after ${name}`);
    return index + 1;
  }
  return undefined;
}

/** Where a turn is that counts the rounds of its ToolCall nodes. */
interface Counted {
  readonly name: string;
  readonly rounds: Readonly<Record<string, number>>;
}

function countedSteps(graph: PlainGraph, { name, rounds }: Counted): readonly (Counted & { readonly exit: string })[] {
  const node = nodeIn(graph, name);
  const used = rounds[name] ?? 0;
  const isAsked = node.type === 'ToolCall' && node.params['tool_choice'] !== 'none';
  const isOver = isAsked && used === node.params['max_rounds'];
  const exits = outcomesOf(node, newTurn).map(({ exit }) => exit);
  return exits.flatMap((exit) => {
    const next = nextOf(node, exit);
    if (next === undefined || (isOver && exit !== 'no_tool_called')) return [];
    return [{ name: next, exit, rounds: isAsked && !isOver ? { ...rounds, [name]: used + 1 } : rounds }];
  });
}

/** Whether a turn can go on forever: it comes back to a node with the same rounds. */
export function canGoOnForever(graph: PlainGraph): boolean {
  const done = new Set<string>();
  const comesBack = (at: Counted, before: readonly string[]): boolean => {
    const key = JSON.stringify([at.name, Object.entries(at.rounds).toSorted()]);
    if (before.includes(key)) return true;
    if (done.has(key)) return false;
    done.add(key);
    return countedSteps(graph, at).some((next) => comesBack(next, [...before, key]));
  };
  return comesBack({ name: graph.start_node, rounds: {} }, []);
}

/** The fewest steps by which a path comes back to one of its nodes without an exit that max_rounds limits; undefined: none. */
export function shortestEndlessLoop(graph: PlainGraph): number | undefined {
  let shortest = Infinity;
  const walk = (name: string, before: readonly { readonly name: string; readonly isLimited: boolean }[]): void => {
    const first = before.findIndex((step) => step.name === name);
    if (first >= 0) {
      if (!before.slice(first).some(({ isLimited }) => isLimited)) shortest = Math.min(shortest, before.length);
      return;
    }
    const node = nodeIn(graph, name);
    for (const { exit } of outcomesOf(node, newTurn)) {
      const next = nextOf(node, exit);
      const isLimited = node.type === 'ToolCall' && exit !== 'no_tool_called';
      if (next !== undefined) walk(next, [...before, { name, isLimited }]);
    }
  };
  walk(graph.start_node, []);
  return shortest === Infinity ? undefined : shortest;
}

/** Whether a turn can take a path and then go round its loop so often. */
export function canRepeat(graph: PlainGraph, path: Path, times: number): boolean {
  const last = path.at(-1)?.node;
  const first = path.findIndex(({ node }) => node === last);
  const loop = path.slice(first, -1);
  if (loop.length === 0 || path[0]?.node !== graph.start_node) return false;
  const steps = [...path.slice(0, first), ...Array.from({ length: times }, () => loop).flat()];
  let at: Counted = { name: graph.start_node, rounds: {} };
  for (const { node, exit } of steps) {
    const next = at.name === node ? countedSteps(graph, at).find((step) => step.exit === exit) : undefined;
    if (!next) return false;
    at = next;
  }
  return at.name === last;
}

/** The Guardrails that let pass on each path to a node, in the order of the path. */
export function guardsOnPaths(graph: PlainGraph, target: string): readonly (readonly string[])[] {
  const found = new Map<string, readonly string[]>();
  const walk = (name: string, passed: readonly string[], before: readonly string[]): void => {
    const here = JSON.stringify([name, passed]);
    if (before.includes(here)) return;
    if (name === target) return void found.set(JSON.stringify(passed), passed);
    const node = nodeIn(graph, name);
    for (const { exit } of outcomesOf(node, newTurn)) {
      const next = nextOf(node, exit);
      const isGuard = node.type === 'Guardrail' && exit === 'not_triggered';
      const lets = isGuard && (node.params['inline_strings'] as string[]).length > 0 && !passed.includes(name);
      if (next !== undefined) walk(next, lets ? [...passed, name] : passed, [...before, here]);
    }
  };
  walk(graph.start_node, [], []);
  return [...found.values()];
}
