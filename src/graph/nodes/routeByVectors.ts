import { didYouMean, listNames } from '../../base/didYouMean.ts';
import { escapePointerToken } from '../../base/jsonPointer.ts';
import { memoized } from '../../base/memoized.ts';
import { describeGraphPointer } from '../compile/document.ts';
import { liveParams } from '../compile/liveParams.ts';
import type { Node, NodeContext } from '../compile/node.ts';
import { assertCount, InvalidOutside, InvalidParams, unwrapParam } from '../compile/node.ts';
import type { EntryFilter } from '../retrieval/filter/filter.ts';
import { readFilter } from '../retrieval/filter/readFilter.ts';
import type { Knowledge, KnowledgeEntry } from '../storage/knowledge/knowledge.ts';
import { sizeOf } from '../storage/sessionMemory.ts';
import { createList, type StringStorage } from '../storage/stringStorage.ts';
import { resolveKnowledge, warnOfAbsent } from './stringParams.ts';

/** The exit of messages that no example is near enough to. */
export const noMatch = 'no_match';
/** The exit of labels of a storage that the graph does not connect. */
export const otherwise = 'otherwise';

interface VectorParams {
  readonly labels?: readonly { readonly name: string; readonly examples: readonly string[] }[];
  readonly string_storage?: string;
  readonly label_field?: string;
  readonly embedding_model: string;
  readonly threshold: number;
  readonly margin: number;
  readonly filter?: object;
}

interface Examples {
  readonly storage: StringStorage;
  /** By the index of the text in a state of the storage; undefined: it is not compared. */
  readonly groupsOf: (state: StringStorage) => readonly (string | undefined)[];
  /** Labels with an exit of their own, and `no_match` if it has one. */
  readonly exits: ReadonlySet<string>;
}

/** Takes the exit of the label whose example is nearest. @throws InvalidParams, InvalidOutside, a load's Fault. */
export async function createVectorRoute(
  params: VectorParams,
  context: NodeContext,
): Promise<Node<string, VectorParams>> {
  const { nodeName } = context;
  const { string_storage: name, label_field: field, embedding_model: embeddingModel } = params;
  const { storage, groupsOf, exits } =
    name !== undefined && field !== undefined
      ? await storedExamples(name, field, context)
      : ownExamples(params.labels ?? [], context);
  const settings = await liveParams(params, (current) => ({
    ...current,
    filter: current.filter && readRouteFilter(current.filter, storage),
  }));
  const retriever = await context.retriever(storage, { match: 'vectors', embeddingModel });
  context.setMade(storage, storage.knowledge ? 0 : sizeOf(storage.list));
  return {
    async run(turn) {
      const { threshold, margin, filter } = settings.current;
      warnOfAbsent(filter, nodeName, turn);
      const { message: query, variables, signal } = turn;
      const [best, next] = await retriever.nearest({ query, groupsOf, filter, variables, signal });
      const similarity = best?.score ?? 0;
      const lead = similarity - (next?.score ?? 0);
      const isNear = (threshold === 0 || similarity >= threshold) && (margin === 0 || lead >= margin);
      const label = (best && isNear && best.group) || '';
      turn.setRoute(label);
      turn.emitEvent('routed', { label, similarity, margin: lead, nearest: best?.text ?? '' }, { always: true });
      const exit = label || noMatch;
      return exits.has(exit) ? exit : otherwise;
    },
    warmUp: ({ signal }) => retriever.prepare(signal),
    change: settings.change,
  };
}

function ownExamples(labels: NonNullable<VectorParams['labels']>, context: NodeContext): Examples {
  const { nodeName, limits, warn, connectedExits } = context;
  const place = `${nodeName}.params.labels`;
  const texts = labels.flatMap(({ examples }) => examples);
  if (texts.length === 0)
    throw new InvalidParams([{ pointer: '/labels', message: 'has no examples; give each label some messages' }]);
  assertCount('/labels', texts.length, 'examples in all', limits.maxPatterns);
  const owners = new Map<string, number>();
  for (const [index, { examples }] of labels.entries()) {
    if (examples.length === 0) warn(`${place}[${index}] is never chosen: it has no examples`);
    for (const [at, text] of examples.entries()) {
      const owner = owners.get(text) ?? index;
      owners.set(text, owner);
      if (owner !== index)
        warn(`${place}[${index}].examples[${at}] is an example of labels[${owner}], too: it tells nothing`);
    }
  }
  if (connectedExits.includes('not_matched'))
    warn(`${nodeName}.exits.not_matched is never taken with "match": "vectors": that exit is ${noMatch}`);
  // An example that is there twice would make its label look narrow.
  const kept = labels.flatMap(({ name, examples }) => [...new Set(examples)].map((text) => ({ name, text })));
  const names = kept.map(({ name }) => name);
  return {
    storage: createList(kept.map(({ text }) => text)),
    groupsOf: () => names,
    exits: new Set([...labels.map(({ name }) => name), noMatch]),
  };
}

async function storedExamples(name: string, field: string, context: NodeContext): Promise<Examples> {
  const { nodeName, connectedExits, warn } = context;
  const why = 'labels come from a KNOWLEDGE (.kb.json) only';
  const { storage, knowledge } = await resolveKnowledge(name, context, why);
  const labels = labelsIn(knowledge.entries, field);
  const values = new Set(labels.filter((label) => label !== undefined));
  const exits = new Set(connectedExits);
  const problem = findFieldProblem(field, values, knowledge);
  if (problem !== undefined) throw new InvalidParams([{ pointer: '/label_field', message: problem }]);
  const known = [...values, noMatch, otherwise];
  const unknown = connectedExits.find((exit) => !known.includes(exit));
  if (unknown !== undefined) {
    const pointer = `/nodes${escapePointerToken(nodeName)}/exits${escapePointerToken(unknown)}`;
    const message = `${describeGraphPointer(pointer)} is no value of "${field}" in "${name}" (there are ${listNames(known)})${didYouMean(unknown, known)}`;
    throw new InvalidOutside(pointer, message, 'GRAPH_COMPILATION_FAILED');
  }
  const place = `${nodeName}.params`;
  for (const warning of knowledge.warnings ?? []) warn(`${place}.string_storage: ${warning}`);
  const unlabelled = labels.filter((label) => label === undefined).length;
  if (unlabelled > 0)
    warn(
      `${place}.label_field "${field}" is no single value of ${unlabelled} entries of "${name}": they are not compared`,
    );
  if (known.every((exit) => exits.has(exit)))
    warn(
      `${nodeName}.exits.${otherwise} is never taken: all values of "${field}" and ${noMatch} have exits of their own`,
    );
  // Those of entries that are added later.
  const groupsOf = memoized(({ knowledge: later }: StringStorage) => labelsIn(later?.entries ?? [], field));
  return { storage, groupsOf, exits };
}

const labelsIn = (entries: readonly KnowledgeEntry[], field: string): readonly (string | undefined)[] =>
  entries.map(({ metadata }) => {
    const value = Object.hasOwn(metadata, field) ? metadata[field] : undefined;
    return value === undefined || value === '' || typeof value === 'object' ? undefined : String(value);
  });

function findFieldProblem(field: string, values: ReadonlySet<string>, { fields }: Knowledge): string | undefined {
  const names = fields?.map(({ name }) => name);
  if (names?.includes(field) === false)
    return `"${field}" is not among the fields of the storage${didYouMean(field, names)}`;
  if (values.size === 0) return `"${field}" is no single value of any entry of the storage; name a field with one`;
  const reserved = [noMatch, otherwise].find((exit) => values.has(exit));
  return reserved && `"${field}" has the value "${reserved}", which is another exit; give it another name`;
}

function readRouteFilter(filter: object, { knowledge }: StringStorage): EntryFilter {
  if (knowledge) return unwrapParam('/filter', readFilter(filter, knowledge.fields));
  const message = 'needs labels of a string_storage: the examples of a label have no metadata; remove it';
  throw new InvalidParams([{ pointer: '/filter', message }]);
}
