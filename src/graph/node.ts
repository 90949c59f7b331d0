import { Fault } from '../fault.ts';
import type { CodeName } from '../frames.gen.ts';
import type { ModelLease } from '../models/pool/pool.ts';
import type { FromSchema, ObjectSchema, ReadResult, SchemaError } from '../schema.ts';
import type { StringStorage } from '../storage/stringStorage.ts';
import type { Turn } from './turn.ts';

/** One step of a graph. */
export interface Node<Exit extends string = string, Params = never> extends Partial<AsyncDisposable> {
  /** Does the step and names the exit to take. */
  run(turn: Turn): Promise<Exit>;
  /** Takes changed parameters, between turns; only live ones differ. @throws ParamsRefused, and then nothing has changed. */
  change?(params: Params): Promise<void>;
  /** Evaluates what can be evaluated before a message is there; the turn's message is empty. */
  warmUp?(turn: Turn): Promise<void>;
}

/** How much one node may have. */
export interface NodeLimits {
  readonly tools: number;
  /** Entries of a list of strings. */
  readonly patterns: number;
}

/** What a node is given when it is made. */
export interface NodeContext {
  readonly nodeName: string;
  readonly limits: NodeLimits;
  /**
   * A model by its name, or the agent's default; the agent gives it back when it goes.
   * @throws Fault UNKNOWN_MODEL, MODEL_NOT_ON_DISK, MODEL_LOAD_FAILED.
   */
  model(name?: string): Promise<ModelLease>;
  /**
   * A string storage: one of the session by its name, else a file of its storage folder.
   * @throws Fault STORAGE_FILE_NOT_FOUND, STORAGE_OUTSIDE_ROOT, STORAGE_KIND_MISMATCH, INVALID_STRING_STORAGE_DATA.
   */
  strings(nameOrPath: string): Promise<StringStorage>;
  /** Adds a sentence to the warnings of the agent, or of its next turn once the agent is made. */
  warn(warning: string): void;
}

/** A kind of node: everything that is to be known about it is in this one value. */
export interface NodeType<P extends ObjectSchema = ObjectSchema, Exit extends string = string> {
  /** The name in a graph's "type". */
  readonly type: string;
  /** One sentence for editors and the reference. */
  readonly summary: string;
  readonly params: P;
  readonly exits: readonly Exit[];
  /**
   * Makes a node from checked parameters; what it opens it disposes of.
   * @throws ParamsRefused, or a Fault of what it could not open.
   */
  create(params: FromSchema<P>, context: NodeContext): Promise<Node<NoInfer<Exit>, NoInfer<FromSchema<P>>>>;
}

/** A node type of any kind, as a registry takes it. */
export type AnyNodeType = Omit<NodeType, 'create'> & { create(params: never, context: NodeContext): Promise<Node> };

/** Defines a node type: its types follow from its values, and an exit that it does not declare does not compile. */
export const defineNode = <const P extends ObjectSchema, const Exit extends string>(
  type: NodeType<P, Exit>,
): NodeType<P, Exit> => type;

/** What is wrong with the parameters of a node beyond their schema; pointers are within the parameters. */
export class InvalidParams extends Error {
  readonly errors: readonly SchemaError[];

  constructor(errors: readonly SchemaError[]) {
    super(errors.map(({ pointer, message }) => `${pointer} ${message}`).join('; '));
    this.errors = errors;
  }
}

// What no parameter is to blame for.
const codesNotAboutParams = new Set<CodeName>(['INTERNAL', 'SERVER_SHUTTING_DOWN']);

/** The refusal of a parameter for what the thing that it names turned out to be; other errors go on as they are. */
export function paramError(pointer: string, error: unknown): unknown {
  if (!(error instanceof Fault) || codesNotAboutParams.has(error.name)) return error;
  return new InvalidParams([{ pointer, message: `cannot be used: ${error.message}`, code: error.name }]);
}

/** The value of a reading of one parameter. @throws ParamsRefused with all its refusals. */
export function unwrapParam<T>(pointer: string, reading: ReadResult<T>): T {
  if (reading.ok) return reading.value;
  throw new InvalidParams(reading.errors.map((refusal) => ({ ...refusal, pointer: pointer + refusal.pointer })));
}
