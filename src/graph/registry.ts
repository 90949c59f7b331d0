import { reader, type ObjectSchema, type Reading } from '../schema.ts';
import type { AnyNodeType, Node, Supplies } from './node.ts';

/** A node type with its parameter check compiled. */
export interface RegisteredType {
  readonly type: string;
  readonly summary: string;
  readonly params: ObjectSchema;
  readonly exits: readonly string[];
  /** Checks parameters and fills their defaults. */
  read(params: unknown): Reading<object>;
  /** Makes a node from parameters that `read` has accepted. */
  create(params: object, supplies: Supplies): Promise<Node>;
}

/** Node types by name. */
export type Registry = ReadonlyMap<string, RegisteredType>;

/** A registry of node types. @throws TypeError when two have the same name. */
export function registryOf(types: readonly AnyNodeType[]): Registry {
  const twice = types.find(({ type }, index) => types.findIndex((other) => other.type === type) !== index);
  if (twice) throw new TypeError(`there are two node types "${twice.type}"; give yours another name`);
  return new Map(types.map((type) => [type.type, register(type)]));
}

function register(type: AnyNodeType): RegisteredType {
  const read = reader<ObjectSchema>(type.params);
  // `read` has accepted what `create` is given.
  return { ...type, read, create: (params, supplies) => type.create(params as never, supplies) };
}
