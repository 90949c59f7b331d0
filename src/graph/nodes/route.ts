import { didYouMean, listNames } from '../../base/didYouMean.ts';
import { escapePointerToken } from '../../base/jsonPointer.ts';
import { memoized } from '../../base/memoized.ts';
import { describeGraphPointer } from '../compile/document.ts';
import { liveParams } from '../compile/liveParams.ts';
import { assertCount, defineNode, InvalidOutside, InvalidParams, unwrapParam } from '../compile/node.ts';
import { type Node, type NodeContext, routingEffects } from '../compile/node.ts';
import type { Turn } from '../compile/turn.ts';
import { placeTemplate } from '../projection/projection.ts';
import type { FromSchema, SchemaError } from '../../protocol/schema.ts';
import { array, closedObject, number, partialObject, string } from '../../protocol/schemaBuilders.ts';
import type { EntryFilter } from '../retrieval/filter/filter.ts';
import { readFilter } from '../retrieval/filter/readFilter.ts';
import type { Knowledge, KnowledgeEntry } from '../storage/knowledge/knowledge.ts';
import type { PatternMatcher } from '../storage/patternSet.ts';
import { sizeOf } from '../storage/sessionMemory.ts';
import { createList, type StringStorage } from '../storage/stringStorage.ts';
import { inferenceParams, openScorer } from './inference.ts';
import { compileEntryPatterns, foldParam, resolveKnowledge, vectorParams, warnOfAbsent } from './stringParams.ts';
import { warnOfUnused } from './stringParams.ts';

/** The exit of messages without a label. */
const notMatched = 'not_matched';
/** The exit of messages that no example is near enough to. */
const noMatch = 'no_match';
/** The exit of labels of a storage that the graph does not connect. */
const otherwise = 'otherwise';

const labelSchema = closedObject(['name'], {
  name: string(
    { minLength: 1, maxLength: 64, pattern: '^(?!\\s)[^\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}]*(?<!\\s)$' },
    'The name of the label and of its exit: 1 to 64 characters on one line, without a space at the start or the end',
  ),
  when: string({ default: '', editor: 'multiline' }, 'What the message is then, for the model.'),
  examples: array(
    { items: { type: 'string', minLength: 1 }, default: [] },
    'Messages that get the label, for match: model and vectors.',
  ),
  patterns: array(
    { items: { type: 'string' }, default: [] },
    'Regular expressions (RE2 syntax), matched anywhere, case-insensitive, for match: patterns.',
  ),
});

const params = partialObject({
  labels: array(
    { minItems: 1, maxItems: 64, items: labelSchema },
    'The labels, one of which is chosen. Each is an exit of the node. With match: vectors, a storage may have them instead.',
  ),
  match: string(
    { enum: ['model', 'patterns', 'vectors'], default: 'model' },
    'model: the label that the model finds most probable; patterns: the first label, in their order, of which a pattern matches the message; vectors: the label with the example that is nearest to the message, by an embedding model.',
  ),
  threshold: number(
    { minimum: 0, maximum: 1, default: 0, live: true },
    'With match: model, the least probability of the label, of 1 for all labels together; below it the exit is not_matched. With match: vectors, the least similarity of the label; below it the exit is no_match.',
  ),
  margin: number(
    { minimum: 0, maximum: 1, default: 0, live: true },
    'With match: vectors, the least lead of the similarity over that of the next label; below it the exit is no_match.',
  ),
  string_storage: string(
    { minLength: 1 },
    'With match: vectors, instead of labels: a KNOWLEDGE storage whose texts are the examples, as in Retrieve.',
  ),
  label_field: string(
    { minLength: 1 },
    'The field of the metadata of string_storage that is the label. The values that the graph connects are exits; all others take otherwise.',
  ),
  ...vectorParams,
  fold: foldParam,
  model_name: inferenceParams.model_name,
});

type RouteParams = FromSchema<typeof params>;
type Label = NonNullable<RouteParams['labels']>[number];

export const route = defineNode({
  type: 'Route',
  summary:
    'Chooses one of its labels for the message, by a model, by patterns or by examples: each label is an exit; `not_matched` is one more, and `no_match` by examples.',
  params,
  exits: {
    param: 'labels',
    member: 'name',
    and: [notMatched],
    if: { param: 'match', is: 'vectors', exits: [noMatch] },
    withoutList: [otherwise],
  },
  effects: (settings, exits) => ({
    ...routingEffects,
    infers: settings.match !== 'patterns',
    silentExits: exits,
    unusedExits: unusedExits(settings),
    informsLaterNodes: true,
  }),
  async create(routeParams, context) {
    const { labels = [], match, fold } = routeParams;
    const matchers = await compileEntryPatterns('/labels', labels, fold, context, [
      ...findSourceErrors(routeParams),
      ...findNameErrors(labels, match),
    ]);
    warnOfLabels(routeParams, matchers, context);
    if (match === 'vectors') return createVectorRoute(routeParams, context);
    const settings = await liveParams(routeParams, ({ threshold }) => {
      if (match === 'patterns') warnOfUnused(match, { threshold: threshold > 0 }, context);
      return { threshold };
    });
    const chooser =
      match === 'patterns'
        ? patternChooser(labels, matchers)
        : await modelChooser({ ...routeParams, labels }, context, () => settings.current.threshold);
    return {
      ...chooser,
      async run(turn) {
        const choice = await chooser.choose(turn);
        turn.setRoute(choice.label);
        turn.emitEvent('route', choice, { always: true });
        return choice.label === '' ? notMatched : choice.label;
      },
      change: settings.change,
    };
  },
});

/** A text without its line breaks and the white space around them. */
export const oneLine = (text: string): string =>
  text.trim().replaceAll(/\s+/g, (space) => (/[\r\n\u2028\u2029]/.test(space) ? ' ' : space));

/** The text of the system message in which a model is asked for one of the labels. */
export function routePrompt(labels: readonly (Pick<Label, 'name'> & Partial<Label>)[]): string {
  const lines = labels.map(({ name, when = '', examples = [] }) => {
    const condition = oneLine(when);
    const described = condition === '' ? name : `${name}: ${condition}`;
    const quoted = examples.map((example) => JSON.stringify(example)).join(', ');
    return quoted === '' ? `- ${described}` : `- ${described}, such as ${quoted}`;
  });
  return `Read the user's message and reply with one label only.\n\nLabels:\n${lines.join('\n')}`;
}

function unusedExits({ labels, match, threshold, margin }: RouteParams): readonly string[] {
  if (!labels) return [];
  const namesWithout = (member: 'patterns' | 'examples'): readonly string[] =>
    labels.filter((label) => label[member].length === 0).map(({ name }) => name);
  if (match === 'patterns') return namesWithout('patterns');
  if (match === 'vectors')
    return [...namesWithout('examples'), notMatched, ...(threshold === 0 && margin === 0 ? [noMatch] : [])];
  return threshold === 0 || labels.length === 1 ? [notMatched] : [];
}

function* findSourceErrors({ labels, match, string_storage, label_field }: RouteParams): Generator<SchemaError> {
  if (match !== 'vectors') {
    if (!labels) yield { pointer: '/labels', message: 'is missing' };
  } else if (labels && string_storage !== undefined)
    yield { pointer: '/string_storage', message: 'is a second source of labels; remove it, or labels' };
  else if (string_storage !== undefined && label_field === undefined)
    yield { pointer: '/label_field', message: 'is missing: it names the field of the metadata that is the label' };
  else if (string_storage === undefined && label_field !== undefined)
    yield { pointer: '/string_storage', message: 'is missing: label_field is a field of its entries' };
  else if (!labels && string_storage === undefined)
    yield { pointer: '/labels', message: 'is missing; add it, or string_storage and label_field' };
}

function* findNameErrors(labels: readonly Label[], match: RouteParams['match']): Generator<SchemaError> {
  const names = labels.map(({ name }) => name);
  for (const [index, name] of names.entries()) {
    const pointer = `/labels/${index}/name`;
    const first = names.indexOf(name);
    if (name === notMatched || (name === noMatch && match === 'vectors'))
      yield { pointer, message: `is "${name}", the exit of messages without a label; give it another name` };
    else if (first < index) yield { pointer, message: `is the name of labels[${first}], too; give it another one` };
  }
}

function warnOfLabels(routeParams: RouteParams, matchers: readonly PatternMatcher[], context: NodeContext): void {
  const { labels = [], match, model_name } = routeParams;
  const { nodeName, warn } = context;
  const place = `${nodeName}.params`;
  if (match !== 'vectors') {
    const { string_storage, label_field, embedding_model, margin, filter } = routeParams;
    warnOfUnused(match, { string_storage, label_field, embedding_model, margin, filter }, context);
  }
  if (match !== 'model') warnOfUnused(match, { model_name: model_name !== '' }, context);
  if (match !== 'patterns') {
    if (match === 'model' && labels.length === 1)
      warn(`${place}.labels has one label, which always has the probability 1; add one for all other messages`);
    if (labels.some(({ patterns }) => patterns.length > 0))
      warn(`${place}.labels has patterns, which are not used; set ${place}.match to "patterns", or remove them`);
    return;
  }
  for (const [index, { patterns }] of labels.entries()) {
    const label = `${place}.labels[${index}]`;
    if (patterns.length === 0) warn(`${label} never matches: it has no patterns`);
    const [matchesAll] = matchers[index]?.matchAll ?? [];
    if (matchesAll !== undefined && index < labels.length - 1)
      warn(`${label}.patterns[${matchesAll}] matches every text: the labels after it never match`);
  }
}

// What `choose` finds is the payload of the NodeEvent `route`; the label "" = none.

const patternChooser = (labels: readonly Label[], matchers: readonly PatternMatcher[]) => ({
  async choose({ message, signal }: Turn) {
    for (const [index, { name }] of labels.entries())
      if ((await matchers[index]?.match(message, signal)) !== undefined) return { label: name };
    return { label: '' };
  },
});

async function modelChooser(
  { labels, model_name }: Pick<RouteParams, 'model_name'> & { readonly labels: readonly Label[] },
  context: NodeContext,
  threshold: () => number,
) {
  const system = routePrompt(labels);
  const names = labels.map(({ name }) => name);
  // The message is what gets a label: results of calls in this turn are left out.
  const scorer = await openScorer(model_name, context, ({ message }) => ({ system, current: placeTemplate(message) }));
  return {
    ...scorer,
    async choose(turn: Turn) {
      const { scores } = await scorer.score(turn, names);
      const probabilities = normalize(scores);
      const best = probabilities.indexOf(Math.max(...probabilities));
      const isChosen = (probabilities[best] ?? 0) >= threshold();
      return {
        label: isChosen ? (names[best] ?? '') : '',
        // By label, 1 in all.
        probabilities: Object.fromEntries(names.map((name, index) => [name, probabilities[index] ?? 0])),
      };
    },
  };
}

/** The probabilities of log-probabilities, 1 in all (softmax). */
function normalize(scores: readonly number[]): readonly number[] {
  const highest = Math.max(...scores);
  const weights = scores.map((score) => Math.exp(score - highest));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}

interface Examples {
  readonly storage: StringStorage;
  /** By the index of the text in a state of the storage; undefined: it is not compared. */
  readonly groupsOf: (state: StringStorage) => readonly (string | undefined)[];
  /** Labels with an exit of their own, and `no_match` if it has one. */
  readonly exits: ReadonlySet<string>;
}

/** Takes the exit of the label whose example is nearest. @throws InvalidParams, InvalidOutside, a load's Fault. */
async function createVectorRoute(params: RouteParams, context: NodeContext): Promise<Node<string, RouteParams>> {
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

function ownExamples(labels: readonly Label[], context: NodeContext): Examples {
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
