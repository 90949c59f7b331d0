import type { Dialog } from '../../chat/dialog.ts';
import { liveParams } from '../compile/liveParams.ts';
import { templateParam } from '../compile/graphDeclarations.ts';
import { defineNode, unwrapParam, type NodeContext, routingEffects } from '../compile/node.ts';
import type { Turn } from '../compile/turn.ts';
import { readFilter } from '../retrieval/filter/readFilter.ts';
import { deepestOf, matches, maxTopK, type SearchRequest } from '../retrieval/retriever.ts';
import type { FromSchema } from '../../protocol/schema.ts';
import { integer, number, partialObject, string } from '../../protocol/schemaBuilders.ts';
import { stateOf, type StringStorage } from '../storage/stringStorage.ts';
import { resolveStorage, stringParams, vectorParams, warnOfAbsent, warnOfUnused } from './stringParams.ts';

// A search takes time for each word; messages of people are shorter.
const maxEarlierCharacters = 65_536;
const exits = ['found', 'not_found'] as const;

const params = partialObject({
  ...stringParams('The entries that are searched'),
  match: string(
    { enum: matches, default: 'words' },
    'How entries are found: by words, with prefixes and small misspellings; by vectors of an embedding model; or by both.',
  ),
  embedding_model: vectorParams.embedding_model,
  query: string(
    { default: '{{user_message}}', live: true, editor: 'multiline' },
    'Template of the text that is searched for.',
  ),
  history: integer(
    { minimum: 0, maximum: 100, default: 0, live: true },
    'So many earlier messages of the user are searched for, too, the last 65,536 characters of them.',
  ),
  top_k: integer(
    { minimum: 1, maximum: maxTopK, default: 3, live: true },
    'Maximum number of entries, without those that come with every search.',
  ),
  min_similarity: number(
    { minimum: 0, maximum: 1, default: 0, live: true },
    'For vectors: entries with a lower cosine similarity are left out; 0 = none is.',
  ),
  filter: vectorParams.filter,
  source: string(
    { minLength: 1, maxLength: 64, pattern: '^[\\p{L}\\p{N}_-]+$', live: true },
    'The SOURCE in knowledge_SOURCE of templates: letters, digits, _ and -. Default: the name of the node.',
  ),
});

export const retrieve = defineNode({
  type: 'Retrieve',
  summary: 'Finds the entries of a storage that fit the message best, for the templates of later nodes.',
  params,
  exits,
  knowledgeSource: ({ source }, nodeName) => source ?? nodeName,
  effects: ({ match, ...rest }) => ({
    ...routingEffects,
    infers: match !== 'words',
    silentExits: exits,
    informsLaterNodes: true,
    async refine(context) {
      const { storage } = await resolveStorage(rest, context);
      return { unusedExits: canFind(storage, match) ? [] : ['found'] };
    },
  }),
  async create(params, context) {
    const { nodeName } = context;
    const { match, embedding_model: model, min_similarity: similarity } = params;
    if (match === 'words')
      warnOfUnused(match, { embedding_model: model !== '', min_similarity: similarity > 0 }, context);
    const settings = await liveParams(params, (current) => readSettings(current, context));
    const requestOf = (turn: Turn): SearchRequest => {
      const { query, history, filter, match, top_k: topK, min_similarity: minSimilarity } = settings.current;
      const { dialog, variables, signal } = turn;
      // The newest first: where a search reads only so many words, those of this turn are among them.
      const deepest = deepestOf(stateOf(settings.current.storage));
      const messages = [query.render(turn), ...lastMessages(dialog, Math.max(history, deepest - 1))];
      const depth = history + 1;
      const text = messages.slice(0, depth).join('\n');
      return { query: text, messages, depth, match, topK, minSimilarity, filter, variables, signal };
    };
    return {
      async run(turn) {
        const { filter, retriever, source = nodeName } = settings.current;
        warnOfAbsent(filter, nodeName, turn);
        const request = requestOf(turn);
        const { hits, found } = await retriever.search(request);
        turn.recordKnowledge({ name: source, chunks: hits });
        const shown = hits.map(({ id, score }) => ({ id, score }));
        turn.emitEvent('retrieved', { source, query: request.query, found, hits: shown });
        return found ? 'found' : 'not_found';
      },
      warmUp: (turn) => settings.current.retriever.prepare(turn.signal),
      change: settings.change,
    };
  },
});

/** The last messages of the user, the newest first, as many as are short enough to be a part of a query. */
function lastMessages({ interactions }: Dialog, count: number): readonly string[] {
  const messages: string[] = [];
  let characters = 0;
  const spoken = interactions.filter(({ user }) => user !== '');
  for (const { user } of spoken.toReversed().slice(0, count)) {
    characters += user.length;
    if (characters > maxEarlierCharacters) break;
    messages.push(user);
  }
  return messages;
}

/** Whether a search can find more entries than every search brings. A storage of the session is still to be filled. */
const canFind = ({ list, knowledge, current }: StringStorage, match: string): boolean =>
  knowledge
    ? (current !== undefined && list.length === 0) ||
      knowledge.entries.some(
        ({ always, keysOnly, keys }) => !always && (match !== 'words' || !keysOnly || keys.length > 0),
      )
    : list.length > 0;

async function readSettings({ query, filter, ...rest }: FromSchema<typeof params>, context: NodeContext) {
  const place = `${context.nodeName}.params`;
  const template = templateParam('query', query, context);
  const { storage, param } = await resolveStorage(rest, context);
  const filtered = filter && unwrapParam('/filter', readFilter(filter, storage.knowledge?.fields));
  const { match, embedding_model: embeddingModel } = rest;
  if (!canFind(storage, match)) context.warn(`${place}.${param} has no entry to find: this Retrieve never finds one`);
  const retriever = await context.retriever(storage, { match, embeddingModel });
  context.setMade(storage, 0);
  for (const warning of storage.knowledge?.warnings ?? []) context.warn(`${place}.${param}: ${warning}`);
  return { ...rest, query: template, filter: filtered, retriever, storage };
}
