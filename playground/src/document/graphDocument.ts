import { parse, printParseErrorCode, visit, type ParseError } from 'jsonc-parser';

/** A node of a graph file, as far as the page knows it; a document that is being written may have anything else. */
export interface GraphNode {
  readonly type: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly exits?: Readonly<Record<string, string>>;
}

/** A graph file, as far as the page knows it. */
export interface GraphFile {
  readonly description?: string;
  readonly default_model_name?: string;
  readonly start_node: string;
  readonly nodes: Readonly<Record<string, GraphNode>>;
}

/** What is wrong with a graph file. */
export interface GraphFault {
  /** A JSON pointer; "" is the whole document. */
  readonly pointer: string;
  readonly message: string;
  readonly severity: 'error' | 'warning';
  /** The offset in the text, where the text is no JSON. */
  readonly offset?: number;
}

/** A parsed text. */
export interface ParsedGraph {
  /** Undefined where the text is no JSON object. */
  readonly graph: GraphFile | undefined;
  /** Faults of the syntax. */
  readonly faults: readonly GraphFault[];
}

/** Parses the text of a graph file. What is missing or of another type in it is left out of the result: it can be drawn. */
export function parseGraph(text: string): ParsedGraph {
  const errors = syntaxErrors(text);
  if (!errors) return { graph: undefined, faults: [tooDeep] };
  const faults = errors.map(({ error, offset }) => ({
    pointer: '',
    message: `the text is no JSON: ${words(printParseErrorCode(error))} in line ${text.slice(0, offset).split('\n').length}`,
    severity: 'error' as const,
    offset,
  }));
  if (faults.length > 0) return { graph: undefined, faults };
  // Not the parser's own value: in that a member `__proto__` is no member.
  const document: unknown = JSON.parse(text);
  if (!isObject(document)) return { graph: undefined, faults: [noObject] };
  return { graph: drawable(document), faults };
}

/** A tool of a graph. */
export interface GraphTool {
  readonly name: string;
  /** The graph has no more than its name: the program brings its declaration. */
  readonly isNamed: boolean;
}

/** The tools of a graph, each once. */
export function toolsOf(graph: GraphFile | undefined): readonly GraphTool[] {
  const nodes = Object.values(graph?.nodes ?? {}).filter(({ type }) => type === 'ToolCall');
  const entries = nodes.flatMap(({ params }) =>
    Array.isArray(params?.['tools']) ? (params['tools'] as unknown[]) : [],
  );
  const tools = new Map<string, GraphTool>();
  for (const entry of entries) {
    const isNamed = typeof entry === 'string';
    const name = isNamed ? entry : (objectOf(entry)['name'] ?? objectOf(objectOf(entry)['function'])['name']);
    if (typeof name === 'string' && /^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/.test(name)) tools.set(name, { name, isNamed });
  }
  return [...tools.values()];
}

/** The tools that a graph only names, as the page declares them: it has no more than the names. */
export const namedTools = (text: string): readonly { readonly name: string; readonly description: string }[] =>
  toolsOf(parseGraph(text).graph)
    .filter(({ isNamed }) => isNamed)
    .map(({ name }) => ({ name, description: '' }));

/** The members of a text that may have faults. */
export function membersOf(text: string): Readonly<Record<string, unknown>> {
  try {
    return byName(Object.entries(objectOf(parse(text))));
  } catch (thrown) {
    if (!(thrown instanceof RangeError)) throw thrown;
    return {};
  }
}

/** A form shows a value with an indentation for each level: of thousands of levels that is too much for the page. */
const maxDepth = 500;

/** The errors of a text; undefined: it nests deeper than parsers and forms can follow. */
function syntaxErrors(text: string): readonly ParseError[] | undefined {
  const errors: ParseError[] = [];
  let [depth, deepest] = [0, 0];
  const open = (): void => void (deepest = Math.max(deepest, ++depth));
  const close = (): void => void depth--;
  const visitor = {
    onObjectBegin: open,
    onObjectEnd: close,
    onArrayBegin: open,
    onArrayEnd: close,
    onError: (error: ParseError['error'], offset: number, length: number) =>
      void errors.push({ error, offset, length }),
  };
  try {
    visit(text, visitor, { allowTrailingComma: false, disallowComments: true });
    return deepest > maxDepth ? undefined : errors;
  } catch (thrown) {
    if (!(thrown instanceof RangeError)) throw thrown;
    return undefined;
  }
}

const tooDeep = { pointer: '', message: 'the text nests too deeply', severity: 'error', offset: 0 } as const;
const noObject = { pointer: '', message: 'the text is no JSON object', severity: 'error', offset: 0 } as const;

/** `InvalidSymbol` as `invalid symbol`. */
const words = (code: string): string => code.replaceAll(/(?<=[a-z])[A-Z]/g, ' $&').toLowerCase();

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const objectOf = (value: unknown): Readonly<Record<string, unknown>> => (isObject(value) ? value : {});

/** An object without inherited members: names in a file, such as `constructor` and `__proto__`, are like all others. */
export const byName = <Value>(entries: Iterable<readonly [string, Value]>): Readonly<Record<string, Value>> =>
  Object.setPrototypeOf(Object.fromEntries(entries), null) as Readonly<Record<string, Value>>;

function drawable(document: Readonly<Record<string, unknown>>): GraphFile {
  const nodes = Object.entries(objectOf(document['nodes'])).flatMap(([name, node]) =>
    isObject(node) ? [[name, drawableNode(node)] as const] : [],
  );
  const text = (name: string): string => (typeof document[name] === 'string' ? document[name] : '');
  return {
    description: text('description'),
    default_model_name: text('default_model_name'),
    start_node: text('start_node'),
    nodes: byName(nodes),
  };
}

function drawableNode(node: Readonly<Record<string, unknown>>): GraphNode {
  const exits = Object.entries(objectOf(node['exits'])).flatMap(([exit, target]) =>
    typeof target === 'string' ? [[exit, target] as const] : [],
  );
  const type = typeof node['type'] === 'string' ? node['type'] : '';
  return { type, params: byName(Object.entries(objectOf(node['params']))), exits: byName(exits) };
}
