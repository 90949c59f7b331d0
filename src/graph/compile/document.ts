import { isObject, tryParseJson } from '../../base/jsonTypes.ts';
import { Fault, truncateMessage } from '../../protocol/fault.ts';
import { maxPartBytes, takeFitting } from '../../protocol/frameSize.ts';
import type { CodeName } from '../../protocol/frames.gen.ts';
import { modelNames } from './modelNames.ts';
import { InvalidOutside, InvalidParams } from './node.ts';
import { describePointer, escapePointerToken } from '../../base/jsonPointer.ts';
import type { FromSchema, SchemaError } from '../../protocol/schema.ts';
import { closedObject, object, string } from '../../protocol/schemaBuilders.ts';

/** JSON Schema of one node in a graph document. Its params are validated by its node type. */
export const nodeSchema = closedObject(['type'], {
  type: string('The node type.'),
  params: object({ default: {} }, 'Parameters of the node type.'),
  exits: object(
    { default: {}, additionalProperties: { type: 'string' } },
    'Target node of each exit; an exit that is absent or "" ends the turn.',
  ),
});

/** JSON Schema of a graph document: a file in graphs/, or the graph that a client sends. */
export const graphSchema = closedObject(['start_node', 'nodes'], {
  $schema: string('Where editors find the schema.'),
  description: string({ default: '', editor: 'multiline' }, 'What the graph is for.'),
  default_model_name: modelNames('Model of the nodes that name none, unless the client names one.'),
  start_node: string('The node that a turn begins with.'),
  nodes: object({ additionalProperties: nodeSchema }, 'The nodes by name.'),
});

/** A graph document that `graphSchema` has accepted; params are not validated yet. */
export type GraphDocument = FromSchema<typeof graphSchema>;

/** Formats a JSON pointer into a graph for error messages: `answer.params.sampling`. */
export function describeGraphPointer(pointer: string): string {
  const place = describePointer(pointer.replace(/^\/nodes(?=\/)/, ''));
  return place === '' ? 'the graph' : place.replace(/^\./, '');
}

/** The place of a parameter of a node in messages. @param pointer relative to the parameters. */
export const describeParam = (nodeName: string, pointer: string): string =>
  describeGraphPointer(`/nodes${escapePointerToken(nodeName)}/params${pointer}`);

/** Reads what a graph names that is not in it, each name once, also where the graph has errors. */
export function referencesOf(document: unknown) {
  const graph = isObject(document) ? document : {};
  const params = Object.values(isObject(graph['nodes']) ? graph['nodes'] : {}).map(
    (node) => Object(Object(node).params) as Readonly<Record<string, unknown>>,
  );
  return {
    models: namesAmong([
      ...[graph['default_model_name']].flat(),
      ...params.flatMap(({ model_name: names }) => names),
      ...params.filter(hasVectors).map(({ embedding_model: name }) => name),
    ]),
    // Files and session storages of its nodes.
    storages: namesAmong(params.map(({ string_storage: name }) => name)),
    // Those of them that are searched by vectors of the model that the storage names.
    withOwnModel: namesAmong(
      params.filter((node) => hasVectors(node) && !node['embedding_model']).map(({ string_storage: name }) => name),
    ),
  };
}

const hasVectors = ({ match }: Readonly<Record<string, unknown>>): boolean => match === 'vectors' || match === 'both';

const namesAmong = (values: readonly unknown[]): readonly string[] => [
  ...new Set(values.filter((value) => typeof value === 'string' && value !== '') as string[]),
];

/** One error in a graph: its pointer is into the document, and its message a sentence that begins with the place. */
export interface GraphFault extends SchemaError {
  readonly code: CodeName;
}

const maxFaults = 100;
// Message and detail of an error go into one frame.
const maxDetailBytes = 3 * maxPartBytes;

/** Creates a fault; the message is the place followed by `message`. */
export const createGraphFault = (
  pointer: string,
  message: string,
  code: CodeName = 'GRAPH_COMPILATION_FAILED',
): GraphFault => ({ code, pointer, message: truncateMessage(`${describeGraphPointer(pointer)} ${message}`) });

/** The faults of errors in a part of a graph. @param pointer that of the part. */
export const faultsBelow = (pointer: string, errors: readonly SchemaError[]): GraphFault[] =>
  errors.map((error) => createGraphFault(pointer + error.pointer, error.message, error.code));

/** What a fault is of: a value of the graph, or an entry of the storage that one names. */
const valueOf = ({ pointer, message }: GraphFault): string =>
  pointer.endsWith('/string_storage') ? `${pointer} ${message}` : pointer;

/**
 * Combines the faults of a graph into one error: the first is its message, with the number of the others; the first
 * `maxFaults` that fit are its detail.
 * Of several faults of one value only the first counts; one of the whole graph is the last.
 */
export function invalidGraph(allFaults: readonly GraphFault[]): Fault {
  const pointers = new Set<string>();
  const isOfWhole = ({ pointer }: GraphFault): number => Number(pointer === '');
  const faults = allFaults
    .filter((fault) => !pointers.has(valueOf(fault)) && pointers.add(valueOf(fault)))
    .sort((one, other) => isOfWhole(one) - isOfWhole(other));
  const [first] = faults;
  if (!first) throw new TypeError('a graph was rejected without a fault');
  const others = faults.length - 1;
  const more =
    others === 0
      ? ''
      : `; ${others} more ${others === 1 ? 'fault is' : 'faults are'} in the detail, and turngraph check shows all`;
  return new Fault(first.code, first.message + more, {
    detail: JSON.stringify(takeFitting(faults.slice(0, maxFaults), maxDetailBytes, true)),
  });
}

/** The faults in the detail of an error; [] for any other detail, which can be any text of an extension. */
export function graphFaultsIn({ detail }: Pick<Fault, 'detail'>): readonly GraphFault[] {
  const faults = tryParseJson(detail);
  return Array.isArray(faults) ? faults.filter(isGraphFault) : [];
}

const isGraphFault = (value: unknown): value is GraphFault =>
  isObject(value) && typeof value['pointer'] === 'string' && typeof value['message'] === 'string';

/** Converts the error of a node that is not created to faults of the graph; [] for other errors, such as a model that does not load. */
export function toGraphFaults(error: unknown, nodePointer: string): GraphFault[] {
  if (error instanceof InvalidOutside) {
    const { code, pointer, message } = error;
    return [{ code, pointer, message: truncateMessage(message) }];
  }
  return error instanceof InvalidParams ? faultsBelow(`${nodePointer}/params`, error.errors) : [];
}
