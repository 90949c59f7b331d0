import { createReader, type ObjectSchema, type ReadResult } from '../schema.ts';
import type { AnyNodeType, Node, NodeContext } from './node.ts';

/** A node type with its parameter check compiled. */
export interface RegisteredType {
  readonly type: string;
  readonly summary: string;
  readonly params: ObjectSchema;
  readonly exits: readonly string[];
  /** Checks parameters and fills their defaults. */
  read(params: unknown): ReadResult<object>;
  /** Makes a node from parameters that `read` has accepted. */
  create(params: object, context: NodeContext): Promise<Node>;
}

/** Node types by name. */
export type Registry = ReadonlyMap<string, RegisteredType>;

/** A registry of node types. @throws TypeError when two have the same name. */
export function createRegistry(types: readonly AnyNodeType[]): Registry {
  const twice = types.find(({ type }, index) => types.findIndex((other) => other.type === type) !== index);
  if (twice) throw new TypeError(`there are two node types "${twice.type}"; give yours another name`);
  return new Map(types.map((type) => [type.type, register(type)]));
}

function register(type: AnyNodeType): RegisteredType {
  const read = createReader<ObjectSchema>(type.params);
  // `read` has accepted what `create` is given.
  return { ...type, read, create: (params, context) => type.create(params as never, context) };
}
