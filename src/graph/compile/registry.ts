import { createReader, type FromSchema, type ObjectSchema, type ReadResult } from '../../protocol/schema.ts';
import { exitsFromParam, type ExitsFromParam } from './exits.ts';
import type { AnyNodeType, NodeEffects, NodeType } from './node.ts';

/** A node type with its compiled parameter schema. */
export interface RegisteredType extends Omit<Required<NodeType>, 'exits' | 'effects'> {
  /** The exits of every node of the type; undefined where they follow from its parameters. */
  readonly fixedExits: readonly string[] | undefined;
  /** The parameter that the exits follow from; undefined where they are fixed, or a function of the parameters. */
  readonly exitsFrom: ExitsFromParam | undefined;
  /** The exits of a node with parameters that `read` has accepted. @param connected the exits that the graph connects. */
  exits(params: NodeParams, connected: readonly string[]): readonly string[];
  /** Validates parameters and fills in their defaults. */
  read(params: unknown): ReadResult<NodeParams>;
  /** What a node with such parameters and exits may do; undefined: its type does not declare it. */
  effects(params: NodeParams, exits: readonly string[]): NodeEffects | undefined;
}

/** Parameters of a node of any type, with their defaults. */
export type NodeParams = FromSchema<ObjectSchema>;

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
  const { exits } = type;
  const fixedExits = isList(exits) ? exits : undefined;
  const exitsFrom = isList(exits) || typeof exits === 'function' ? undefined : exits;
  // The casts are safe: `read` has validated the parameters.
  return {
    ...type,
    read: createReader<ObjectSchema>(type.params),
    needs: type.needs ?? {},
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
