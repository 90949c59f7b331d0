import { exitsFromParam, type ExitsFromParam } from '../../../src/graph/compile/exits.ts';
import type { GraphNode } from './graphDocument.ts';

/** A part of a JSON Schema, as far as forms follow it. */
export interface FieldSchema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly FieldSchema[];
  readonly items?: FieldSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | FieldSchema;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly 'x-live'?: boolean;
  readonly 'x-editor'?: 'multiline' | 'model';
}

/** A node type of the server. */
export interface NodeTypeSchema {
  readonly type: string;
  readonly summary: string;
  readonly params: FieldSchema;
  /** The exits of every node of the type; those that follow from parameters are not in it. */
  readonly exits: readonly string[];
  readonly exitsFrom: ExitsFromParam | undefined;
  /** Whether a node of the type may have exits that cannot be told from its parameters. */
  readonly hasOpenExits: boolean;
}

/** All node types by name, and the fields of the graph itself. */
export interface GraphTypes {
  readonly types: ReadonlyMap<string, NodeTypeSchema>;
  readonly graph: FieldSchema;
}

/** The types before the schema is there: every node has the exits that the file has. */
export const noTypes: GraphTypes = { types: new Map(), graph: {} };

interface TypeBranch {
  readonly then: {
    readonly description?: string;
    readonly properties: {
      readonly type: FieldSchema;
      readonly params?: FieldSchema;
      readonly exits?: FieldSchema & { readonly 'x-exits-from'?: ExitsFromParam };
    };
  };
}

/** Reads graph.schema.json, which has a branch for each node type. */
export function readGraphTypes(schema: object): GraphTypes {
  const { definitions, ...graph } = schema as FieldSchema & {
    readonly definitions: { readonly node: { readonly allOf: readonly TypeBranch[] } };
  };
  const types = definitions.node.allOf.map(({ then: { description = '', properties } }): NodeTypeSchema => {
    const { type, params = {}, exits = {} } = properties;
    const exitsFrom = exits['x-exits-from'];
    return {
      type: String(type.const),
      summary: description,
      params,
      exits: Object.keys(exits.properties ?? {}),
      exitsFrom,
      hasOpenExits: exits.additionalProperties !== false && exitsFrom === undefined,
    };
  });
  return { graph, types: new Map(types.map((type) => [type.type, type])) };
}

/** The names of the exits of a node: those of its type with its parameters, then others that the file has. */
export function exitNames({ types }: GraphTypes, { type, params = {}, exits = {} }: GraphNode): readonly string[] {
  const known = types.get(type);
  const declared = known?.exitsFrom
    ? exitsFromParam(known.exitsFrom, params, Object.keys(exits))
    : (known?.exits ?? []);
  return [...new Set([...declared, ...Object.keys(exits)])];
}
