import { createReader, type ObjectSchema, type ReadResult } from '../../protocol/schema.ts';
import { exitsFromParam, type ExitsFromParam } from './exits.ts';
import type { NodeEffects, AnyNodeType, Node, NodeContext } from './node.ts';

/** A node type with its compiled parameter schema. */
export interface RegisteredType extends Pick<AnyNodeType, 'type' | 'summary' | 'params' | 'needs'> {
  /** The exits of every node of the type; undefined where they follow from its parameters. */
  readonly fixedExits: readonly string[] | undefined;
  /** The parameter that the exits follow from; undefined where they are fixed, or a function of the parameters. */
  readonly exitsFrom: ExitsFromParam | undefined;
  /** The exits of a node with parameters that `read` has accepted. @param connected the exits that the graph connects. */
  exits(params: object, connected: readonly string[]): readonly string[];
  /** Validates parameters and fills in their defaults. */
  read(params: unknown): ReadResult<object>;
  /** What a node with such parameters and exits may do; undefined: its type does not declare it. */
  effects(params: object, exits: readonly string[]): NodeEffects | undefined;
  toolNames(params: object): readonly string[];
  /** The name of the block of knowledge that a node with such parameters finds; undefined: it finds none. */
  knowledgeSource(params: object, nodeName: string): string | undefined;
  fieldNames(params: object): readonly string[];
  /** Creates a node from parameters that `read` has accepted. @throws InvalidParams, or the Fault of a resource. */
  create(params: object, context: NodeContext): Promise<Node>;
}

export type Registry = ReadonlyMap<string, RegisteredType>;

/** Creates a registry of node types. @throws TypeError when two have the same name. */
export function createRegistry(types: readonly AnyNodeType[]): Registry {
  const names = types.map(({ type }) => type);
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate !== undefined) throw new TypeError(`there are two node types "${duplicate}"; give yours another name`);
  return new Map(types.map((type) => [type.type, register(type)]));
}

const isList = (exits: AnyNodeType['exits']): exits is readonly string[] => Array.isArray(exits);

function register(type: AnyNodeType): RegisteredType {
  const read = createReader<ObjectSchema>(type.params);
  const { exits } = type;
  const fixedExits = isList(exits) ? exits : undefined;
  const exitsFrom = isList(exits) || typeof exits === 'function' ? undefined : exits;
  // The cast is safe: `read` has validated the parameters.
  return {
    ...type,
    read,
    fixedExits,
    exitsFrom,
    exits: (params, connected) => {
      if (typeof exits === 'function') return exits(params as never);
      return exitsFrom ? exitsFromParam(exitsFrom, params, connected) : (fixedExits ?? []);
    },
    effects: (params, exits) => type.effects?.(params as never, exits),
    toolNames: (params) => type.toolNames?.(params as never) ?? [],
    knowledgeSource: (params, nodeName) => type.knowledgeSource?.(params as never, nodeName),
    fieldNames: (params) => type.fieldNames?.(params as never) ?? [],
    create: (params, context) => type.create(params as never, context),
  };
}
