import { InvalidEntries } from '../storage/invalidStorage.ts';
import type { ModelPurpose } from '../../inference/contract/model.ts';
import { Fault } from '../../protocol/fault.ts';
import type { CodeName } from '../../protocol/frames.gen.ts';
import type { ModelLease } from '../../inference/models/pool/lease.ts';
import type { Match, Retriever } from '../retrieval/retriever.ts';
import type { FromSchema, ObjectSchema, ReadResult, SchemaError } from '../../protocol/schema.ts';
import { errorsBelow } from '../../protocol/schema.ts';
import type { StringStorage } from '../storage/stringStorage.ts';
import type { ClientTools } from './clientTools.ts';
import type { ExitsFromParam } from './exits.ts';
import type { ModelNames } from './modelNames.ts';
import type { Turn } from './turn.ts';

/** A node of a graph, created for one agent. */
export interface Node<Exit extends string = string, Params = never> extends Partial<AsyncDisposable> {
  /** Runs the node for one turn. @returns the exit to take. */
  run(turn: Turn): Promise<Exit>;
  /** Applies changed parameters, between turns; only live ones differ. @throws InvalidParams; then nothing has changed. */
  change?(params: Params): Promise<void>;
  /** Prefills the part of the prompt that does not depend on the message; `turn.message` is empty. */
  warmUp?(turn: Turn): Promise<void>;
}

/** Limits of one node. */
export interface NodeLimits {
  /** Max tools. */
  readonly maxTools: number;
  /** Max entries of a string storage, or of a node's own strings. */
  readonly maxPatterns: number;
}

/** Limits of what a client can ask for. */
export interface Limits extends NodeLimits {
  /** Max agents of one session. */
  readonly maxAgents: number;
  /** Max bytes of a user message, and of all its variables together. */
  readonly maxMessageBytes: number;
  /** Max entries of a KNOWLEDGE storage. */
  readonly maxKnowledgeEntries: number;
  /** Max bytes of all KNOWLEDGE storages of one session. */
  readonly maxKnowledgeBytes: number;
  /** Max unanswered requests of one connection. */
  readonly maxRequests: number;
  /** Max nodes of one graph. */
  readonly maxNodes: number;
  /** Max nodes that one turn may visit. */
  readonly maxSteps: number;
}

/** How a node matches the entries of a storage. */
export interface RetrieverMatching {
  readonly match: Match;
  /** The model of the vectors; "" = the one that the storage names. */
  readonly embeddingModel: string;
  /** Called once the names are checked, before a model is loaded. */
  readonly beforeLoad?: () => Promise<void>;
}

/** What a node has access to when it is created. */
export interface NodeContext {
  readonly nodeName: string;
  /** The exits that the graph names for the node, those that end the turn included. */
  readonly connectedExits: readonly string[];
  readonly limits: NodeLimits;
  /**
   * Leases a model by its name, or one of several, or the agent's default; the agent releases it when it is disposed.
   * @param purpose what the node needs it for; default: chat.
   * @throws Fault GRAPH_COMPILATION_FAILED for a model of another purpose, UNKNOWN_MODEL, MODEL_NOT_ON_DISK, MODEL_LOAD_FAILED.
   */
  model(names?: ModelNames, purpose?: ModelPurpose): Promise<ModelLease>;
  /** Checks what can be known of a model without loading it. @throws the error that `model` would. */
  checkModel?(names?: ModelNames, purpose?: ModelPurpose): void;
  /**
   * Finds a string storage: one of the session by its name, else a file of its storage folder.
   * @throws Fault STORAGE_FILE_NOT_FOUND, STORAGE_OUTSIDE_ROOT, STORAGE_KIND_MISMATCH, INVALID_STRING_STORAGE_DATA.
   */
  strings(nameOrPath: string): Promise<StringStorage>;
  /**
   * Adds entries to a KNOWLEDGE storage of the session, all or none; one with a known id takes the place of the other.
   * @returns their ids, in order.
   * @throws Fault INVALID_STRING_STORAGE_NAME, INVALID_STRING_STORAGE_DATA, LIMIT_EXCEEDED; then nothing has changed.
   */
  addKnowledge(name: string, entries: readonly Readonly<Record<string, unknown>>[]): Promise<readonly string[]>;
  /** Counts what the node has made of its parameters, last of all, in the memory of its session. @throws Fault LIMIT_EXCEEDED */
  setMade(thing: object, bytes: number): void;
  /**
   * Opens the search over a storage.
   * @throws InvalidParams for `match` and `embedding_model`, the Fault of a model that cannot be loaded.
   */
  retriever(storage: StringStorage, matching: RetrieverMatching): Promise<Retriever>;
  /**
   * The names of the tools that the nodes of the graph declare at the moment; undefined while the graph has a node whose
   * parameters are not valid, so that its tools are not known.
   */
  toolNames(): ReadonlySet<string> | undefined;
  /** The tools that the client brings, for nodes that only name them; absent: they are not known, as in a check of a file. */
  readonly clientTools?: ClientTools | undefined;
  /** The names under which the nodes of the graph find knowledge at the moment; undefined as for tools. */
  knowledgeSources(): ReadonlySet<string> | undefined;
  /** The names of the fields in which nodes of the graph answer; undefined as above. */
  fieldNames(): ReadonlySet<string> | undefined;
  /** Adds a sentence to the warnings of the agent, or, once the agent is created, to those of its next turn. */
  warn(warning: string): void;
}

/** A node type: its name, parameters, exits and implementation in one value. */
export interface NodeType<P extends ObjectSchema = ObjectSchema, Exit extends string = string, Params = FromSchema<P>> {
  /** The name in a graph's "type". */
  readonly type: string;
  /** One sentence for editors and graphs/README.md. */
  readonly summary: string;
  /** JSON Schema of the parameters. */
  readonly params: P;
  /** The exits; where they follow from parameters, none of which may be live: from which list, or a function of all. */
  readonly exits: readonly Exit[] | ExitsFromParam | ((params: Params) => readonly Exit[]);
  /** What a node with these parameters and exits may do in a turn; absent: the audit assumes the worst. */
  effects?(params: Params, exits: readonly string[]): NodeEffects;
  /** The names of the tools that a node with these parameters declares or names; absent: none. */
  toolNames?(params: Params): readonly string[];
  /** The name of the block of knowledge that a node with these parameters finds; absent or undefined: it finds none. */
  knowledgeSource?(params: Params, nodeName: string): string | undefined;
  /** The names of the fields in which a node with these parameters answers; absent: none. */
  fieldNames?(params: Params): readonly string[];
  /** Parameters, and exits as `exits.NAME`, that have no effect without a value of another parameter, its name. */
  readonly needs?: Readonly<Record<string, string>>;
  /**
   * Creates a node from validated parameters. The node disposes of what it opens.
   * @throws InvalidParams, or the Fault of a resource that cannot be opened.
   */
  create(params: Params, context: NodeContext): Promise<Node<NoInfer<Exit>, NoInfer<Params>>>;
}

/** A node type of any kind, as a registry takes it. */
export type AnyNodeType = NodeType<ObjectSchema, string, never>;

/** Defines a node type. TypeScript infers its types from its values; returning an undeclared exit does not compile. */
export const defineNode = <const P extends ObjectSchema, const Exit extends string>(
  type: NodeType<P, Exit>,
): NodeType<P, Exit> => type;

/** Errors in the parameters of a node that their schema does not find; pointers are relative to the parameters. */
export class InvalidParams extends Error {
  readonly errors: readonly SchemaError[];

  constructor(errors: readonly SchemaError[]) {
    super(errors.map(({ pointer, message }) => `${pointer} ${message}`).join('; '));
    this.errors = errors;
  }
}

/** An error that a node meets in a value outside of it: in another field of the graph, or of the client's request. */
export class InvalidOutside extends Error {
  readonly code: CodeName;
  /** JSON pointer into the graph; "" = the value is not in the graph. */
  readonly pointer: string;

  /** @param message a sentence that begins with the place. */
  constructor(pointer: string, message: string, code: CodeName) {
    super(message);
    this.pointer = pointer;
    this.code = code;
  }
}

// Errors that no parameter causes.
const codesNotAboutParams = new Set<CodeName>(['INTERNAL', 'SERVER_SHUTTING_DOWN']);

/** Whether an error is a Fault about a resource that a client or a graph names. */
export const isResourceFault = (error: unknown): error is Fault =>
  error instanceof Fault && !codesNotAboutParams.has(error.name);

/** Converts a Fault about the resource that a parameter names to an error of that parameter; returns other errors as they are. */
export function paramError(pointer: string, error: unknown): unknown {
  if (!isResourceFault(error)) return error;
  const problems = error instanceof InvalidEntries ? error.problems : [error.message];
  return new InvalidParams(
    problems.map((problem) => ({ pointer, message: `cannot be used: ${problem}`, code: error.name })),
  );
}

/** @throws InvalidParams LIMIT_EXCEEDED for a parameter with more than is allowed, and before that the errors before it. */
export function assertCount(
  pointer: string,
  count: number,
  what: string,
  allowed: number,
  before: readonly SchemaError[] = [],
) {
  if (count <= allowed) return;
  const message = `has ${count} ${what}, and ${allowed} are allowed`;
  throw new InvalidParams([...before, { pointer, message, code: 'LIMIT_EXCEEDED' }]);
}

/** Returns the value of a parameter that was read. @throws InvalidParams with all errors of the reading. */
export function unwrapParam<T>(pointer: string, reading: ReadResult<T>): T {
  if (reading.ok) return reading.value;
  throw new InvalidParams(errorsBelow(pointer, reading.errors));
}

/** A tool whose calls a node may record in a turn. */
export interface CallableTool {
  /** undefined: any name that the node does not declare. */
  readonly name: string | undefined;
  /** Whether the client is notified of the calls. */
  readonly isNotified: boolean;
  /** Whether the turn waits for their results. */
  readonly awaitsResult: boolean;
  readonly isConsequential: boolean;
  /** Whether the tool is offered only where a node before selects it. */
  readonly needsSelection: boolean;
  /** Whether it can be called only when the node is visited again in the turn, after a result. */
  readonly onlyAfterResult: boolean;
}

/** What a Guardrail watches. */
export type WatchedText = 'message' | 'answer';

/** How a node keeps texts from a model or from the client. */
export interface GuardEffects {
  readonly watch: WatchedText;
  /** The exit that lets a text pass. */
  readonly exit: string;
  /** How many patterns it has; with 0 every text passes, and it guards nothing. */
  readonly patterns: number;
}

/**
 * What a node may do in a turn. Where one is absent, `turngraph audit` assumes the worst that is given there: a proof holds
 * whatever such a node does. The warnings about a graph assume that nothing is wrong.
 */
export interface NodeEffects {
  /** Whether it may run a model. Absent: it may. */
  readonly infers?: boolean;
  /** The exits with which it may send a text of a model to the client at once. Absent: all. */
  readonly sends?: readonly string[];
  /** Whether it may send a text that shows what calls or insights of the turn say, such as a template of a line. Absent: it may. */
  readonly showsCalls?: boolean;
  /** The fields of text that an answer of it has, or may have, which lines can show. Absent: none. */
  readonly textFields?: readonly string[];
  /** The fields of answers that a text of it may show; "" = any. Absent: none. */
  readonly showsFields?: readonly string[];
  /** What becomes of the held answer: it is kept, discarded for a text that is no model's, or replaced by a text of a model. Absent: replaced. */
  readonly held?: 'kept' | 'discarded' | 'replaced';
  /** The tools whose calls it may record. Absent: they are not known. */
  readonly tools?: readonly CallableTool[];
  /** What it guards. Absent: nothing. */
  readonly guards?: GuardEffects;
  /** The exits that it takes only a limited number of times in a turn, whatever a model does. Absent: none. */
  readonly limitedExits?: readonly string[];
  /** The exits that it never takes with these parameters. Absent: none. */
  readonly unusedExits?: readonly string[];
  /** The exits on which the client gets neither a text nor a call of the node. Absent: none. */
  readonly silentExits?: readonly string[];
  /** Whether later nodes or turns learn of what the node finds out in another way, too: then its exits may all lead to one node. */
  readonly informsLaterNodes?: boolean;
  /** Whether the node can select tools for the nodes after it, and by which names; true: by any. Absent: no. */
  readonly selects?: boolean | readonly string[];
  /** Whether the node offers only tools that a node before it selected, and by which names; true: not known. Absent: no. */
  readonly needsSelection?: boolean | readonly string[];
  /** Reads what only the storage of the node tells, for the audit; it takes the place of what is given here. */
  refine?(context: EffectsContext): Promise<Omit<NodeEffects, 'refine'>>;
}

/** What the storage of a node can be read with, without a model. */
export type EffectsContext = Pick<NodeContext, 'nodeName' | 'limits' | 'strings' | 'warn'>;

/** The effects of a node that only chooses an exit: no model, no text, no calls. */
export const routingEffects = {
  infers: false,
  sends: [],
  showsCalls: false,
  held: 'kept',
  tools: [],
} as const satisfies NodeEffects;
