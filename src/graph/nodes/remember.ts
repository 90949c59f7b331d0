import { randomUUID } from 'node:crypto';
import { tryParseJson } from '../../base/jsonTypes.ts';
import { memoizedByKey } from '../../base/memoized.ts';
import { answerGrammar, ruleFromSchema } from '../../chat/grammar/jsonSchema/fromSchema.ts';
import type { CallGrammar } from '../../chat/grammar/rule.ts';
import { describeError, Fault } from '../../protocol/fault.ts';
import { createReader, type FromSchema } from '../../protocol/schema.ts';
import { boolean, closedObject, integer, string } from '../../protocol/schemaBuilders.ts';
import { templateParam } from '../compile/graphDeclarations.ts';
import { liveParams } from '../compile/liveParams.ts';
import { defineNode, type NodeContext, routingEffects } from '../compile/node.ts';
import type { BackgroundRun, InferenceRecord, Turn } from '../compile/turn.ts';
import type { Hit } from '../retrieval/retriever.ts';
import type { StringStorage } from '../storage/stringStorage.ts';
import { type FactSource, isAbout, isSameFact, speakerFinder } from './factSources.ts';
import { emitInference, inferenceParams, requireGrammars, resolveModel } from './inference.ts';
import { oneLine } from './route.ts';
import { completeAside, type SideInference } from './sideInference.ts';
import { resolveKnowledge } from './stringParams.ts';

// Of a fact, in characters and about so many tokens.
const maxFactLength = 200;
const tokensPerFact = 80;
/** Kept facts that the model is shown, of which a new one may replace one. */
const maxShown = 6;
// Entries of others may be among what a search finds.
const maxSearched = 50;
// Tokens of the context for our own words and the kept facts, and the characters that surely fit in a token.
const reservedTokens = 512;
const charactersPerToken = 2;
/** Characters of a message in the warning about it. */
const maxNamedLength = 60;

const ownPrompt =
  'You keep the memory of a character in a game. Read the new messages and write down the facts that are worth ' +
  'remembering in later conversations: who the user is, what the user likes, has, wants and did, and what the character ' +
  'promised or did. Write each fact as one short sentence about "The user" or "The character", in the words that were ' +
  'said. Leave out questions, greetings, guesses and all that was not said. Often there is nothing: then the list is empty.';

const params = closedObject(['string_storage'], {
  string_storage: string(
    { minLength: 1 },
    'The KNOWLEDGE that gets the facts: the name of a storage of the session. A Retrieve on it finds them.',
  ),
  model_name: inferenceParams.model_name,
  system_prompt: string(
    { default: ownPrompt, live: true, editor: 'multiline' },
    'Template of the system message: what is worth keeping.',
  ),
  max_facts: integer({ minimum: 1, maximum: 20, default: 3, live: true }, 'Maximum number of facts each time.'),
  every_turns: integer(
    { minimum: 1, maximum: 100, default: 1, live: true },
    'Looks for facts on each such visit, in so many turns up to this one.',
  ),
  priority: string(
    { enum: ['BACKGROUND', 'NORMAL', 'URGENT'], default: 'BACKGROUND', live: true },
    'BACKGROUND: after the turn, while the next one may run; NORMAL, URGENT: within the turn, which waits for it.',
  ),
  replace: boolean(
    { default: true, live: true },
    'Whether a fact replaces a remembered one that it contradicts or repeats.',
  ),
});

export const remember = defineNode({
  type: 'Remember',
  summary: 'Lets a model write down what of the conversation is worth keeping, and adds these facts to a storage.',
  params,
  exits: ['default'],
  effects: () => ({ ...routingEffects, infers: true, silentExits: ['default'] }),
  async create(params, context) {
    const { nodeName } = context;
    const settings = await liveParams(params, async (current) => {
      return { ...current, system: templateParam('system_prompt', current.system_prompt, context) };
    });
    const storage = await findStorage(params.string_storage, context);
    const match = storage.knowledge?.embeddingModel === undefined ? 'words' : 'both';
    const retriever = await context.retriever(storage, { match, embeddingModel: '' });
    const lease = await resolveModel(context, params.model_name);
    requireGrammars(lease.model, '/model_name');
    context.setMade(storage, 0);
    let visits = 0;
    const keptFacts = async (query: string, signal: AbortSignal): Promise<readonly Hit[]> => {
      const search = {
        query,
        match,
        topK: maxSearched,
        minSimilarity: 0,
        filter: undefined,
        variables: {},
        signal,
      } as const;
      const { hits } = await retriever.search(search);
      return hits.filter(({ id }) => id.startsWith(idPrefix)).slice(0, maxShown);
    };
    const rememberFrom = async (turn: Turn, system: string, count: number, run: FactRun): Promise<void> => {
      const { max_facts: maxFacts, replace } = settings.current;
      const lines = sourcesOf(turn, count);
      const kept = replace ? await keptFacts(lines.map(({ text }) => text).join('\n'), run.signal) : [];
      const reply = await askForFacts(turn, { lines, kept, maxFacts, system, lease, label: nodeName, run });
      if (!reply) return;
      const changes = judgeFacts(reply.slice(0, maxFacts), kept, lines);
      if (changes.length === 0) return;
      const metadata = metadataOf(turn, storage);
      const entries = changes.map(({ id, text, who }) => ({ id, text, metadata: metadata(who) }));
      const ids = await context.addKnowledge(params.string_storage, entries);
      const replaced = changes.flatMap(({ replaced }) => replaced ?? []);
      if (replaced.length > 0)
        run.emitEvent('forgotten', { ids: replaced.map(({ id }) => id), texts: replaced.map(({ text }) => text) });
      run.emitEvent('remembered', { ids, texts: changes.map(({ text }) => text) });
    };
    return {
      async run(turn) {
        const { every_turns: every, priority, system } = settings.current;
        if (++visits % every > 0) return 'default';
        const prompt = system.render(turn);
        const name = `${nodeName} on visit ${visits} (${JSON.stringify(turn.message.slice(0, maxNamedLength))})`;
        const work = (run: FactRun): Promise<void> => rememberFrom(turn, prompt, every, run);
        if (priority === 'BACKGROUND') turn.later(name, work);
        else await withinTurn(turn, work, { priority, nodeName });
        return 'default';
      },
      change: settings.change,
    };
  },
});

/** When facts are looked for: after the turn, or within it, which counts the inference then. */
interface FactRun extends BackgroundRun {
  readonly record?: (inference: InferenceRecord) => void;
}

/** The storage of a node. @throws InvalidParams when there is none, or it has no entries. */
async function findStorage(name: string, context: NodeContext): Promise<StringStorage> {
  const { storage } = await resolveKnowledge(name, context, 'facts are kept in a KNOWLEDGE only');
  if (!storage.current)
    context.warn(
      `${context.nodeName}.params.string_storage "${name}" is a file, which does not change: nothing is remembered, unless the client creates a storage of this name (from the file, by filePath) before the agent`,
    );
  return storage;
}

/** Works within a turn, which goes on if that fails. @throws the reason of the turn's signal */
async function withinTurn(
  turn: Turn,
  work: (run: FactRun) => Promise<void>,
  { priority, nodeName }: { readonly priority: 'NORMAL' | 'URGENT'; readonly nodeName: string },
): Promise<void> {
  const emitEvent = (event: string, payload: object): void => turn.emitEvent(event, payload, { always: true });
  try {
    const record = (inference: InferenceRecord): void => turn.recordInference(inference);
    await work({ signal: turn.signal, schedule: { ...turn.schedule, priority }, emitEvent, record });
  } catch (error) {
    turn.signal.throwIfAborted();
    turn.warn(`${nodeName} failed: ${describeError(error)}`);
  }
  turn.signal.throwIfAborted();
}

/** What was said and done in the last turns, this one included, and in the one before them. */
function sourcesOf({ dialog, message, answer, calls }: Turn, count: number): readonly FactSource[] {
  const { interactions } = dialog;
  // A turn in which lines were added is several interactions, of which the first one has the message.
  const starts = interactions.flatMap(({ user }, index) => (user === '' ? [] : [index])).concat(interactions.length);
  const [first = 0, firstNew = 0] = [starts.at(-count - 1), starts.at(-count)];
  const earlier = interactions.slice(first).flatMap(({ user, assistant, spoken = '' }, index) => {
    const isNew = first + index >= firstNew;
    return [
      { who: 'user', text: user, isNew } as const,
      { who: 'character', text: assistant || spoken, isNew } as const,
    ];
  });
  const done = calls.map(({ name, typedArguments }) => `${name} ${typedArguments}`);
  const own = [answer, ...done].map((text) => ({ who: 'character', text, isNew: true }) as const);
  return [...earlier, { who: 'user', text: message, isNew: true } as const, ...own].filter(({ text }) => text !== '');
}

const factsSchema = closedObject(['facts'], {
  facts: {
    type: 'array',
    items: closedObject(['text'], {
      text: string('The fact.'),
      replaces: integer('The number of a known fact; 0 = none.'),
    }),
  },
});

type Fact = FromSchema<typeof factsSchema>['facts'][number];

const readFacts = createReader(factsSchema);

interface FactRequest extends Pick<SideInference, 'lease' | 'label' | 'system'> {
  readonly lines: readonly FactSource[];
  readonly kept: readonly Hit[];
  readonly maxFacts: number;
  readonly run: FactRun;
}

/** Asks the model for facts. @returns undefined when it was stopped. @throws Fault INFERENCE_FAILED for what is no list. */
async function askForFacts(turn: Turn, request: FactRequest): Promise<readonly Fact[] | undefined> {
  const { lines, kept, maxFacts, run, ...side } = request;
  const { lease } = side;
  const maxTokens = tokensPerFact * maxFacts + 32;
  const room = Math.max(256, charactersPerToken * (lease.model.contextSize - maxTokens - reservedTokens));
  const written = (isNew: boolean): readonly string[] =>
    lines
      .filter((line) => line.isNew === isNew)
      .map(
        ({ who, text }) => `${who === 'user' ? 'User' : 'Character'}: ${oneLine(text.slice(0, room / lines.length))}`,
      );
  const blocks = {
    'Earlier messages': written(false),
    'Known facts': kept.map(({ text }, index) => `${index + 1}. ${oneLine(text)}`),
    'New messages': written(true),
  };
  const parts = Object.entries(blocks).flatMap(([title, block]) =>
    block.length > 0 ? [`${title}:`, ...block, ''] : [],
  );
  const replacing =
    kept.length > 0 ? ['"replaces" is the number of the known fact that a fact contradicts or repeats, else 0.'] : [];
  const { signal, schedule } = run;
  const completion = await completeAside({
    ...side,
    user: [...parts, ...replacing].join('\n').trimEnd(),
    maxTokens,
    signal,
    schedule,
    grammar: factsGrammar({ maxFacts, kept: kept.length }),
    message: turn.message,
    inference: turn.inferences + 1,
    transcript: turn.diagnostics,
  });
  run.record?.({ ...completion, dropped: 0, notes: { model: lease.name } });
  emitInference(run, completion, completion.sampling, lease.name, {});
  if (signal.aborted) return undefined;
  const reading = readFacts(tryParseJson(completion.text));
  if (reading.ok) return reading.value.facts;
  const reason =
    completion.finishReason === 'length' ? 'was cut off; lower max_facts' : 'is none; choose another model';
  throw new Fault('INFERENCE_FAILED', `what the model wrote as the list of facts ${reason}`);
}

const factsGrammar = memoizedByKey(
  ({ maxFacts, kept }: { readonly maxFacts: number; readonly kept: number }) => `${maxFacts} ${kept}`,
  ({ maxFacts, kept }): CallGrammar => {
    const text = { type: 'string', minLength: 1, maxLength: maxFactLength };
    const replaces = { enum: Array.from({ length: kept + 1 }, (_, number) => number) };
    const members = kept > 0 ? { text, replaces } : { text };
    const fact = { type: 'object', additionalProperties: false, required: Object.keys(members), properties: members };
    const facts = { type: 'array', maxItems: maxFacts, items: fact };
    const schema = { type: 'object', additionalProperties: false, required: ['facts'], properties: { facts } };
    const reading = ruleFromSchema(schema);
    if (!reading.ok) throw new TypeError('the schema of facts has no grammar');
    return answerGrammar(reading.value);
  },
);

interface KeptFact {
  /** That of the fact that it replaces, else a new one. */
  readonly id: string;
  readonly text: string;
  readonly who: FactSource['who'];
  readonly replaced: Hit | undefined;
}

/** The facts that were said, each once, with the kept fact that each one replaces. */
function judgeFacts(facts: readonly Fact[], kept: readonly Hit[], lines: readonly FactSource[]): readonly KeptFact[] {
  const whoSaid = speakerFinder(lines);
  const changes: KeptFact[] = [];
  for (const { text: written, replaces = 0 } of facts) {
    const text = oneLine(written);
    const who = whoSaid(text);
    if (who === undefined || changes.some((other) => isSameFact(other.text, text))) continue;
    // Small models give numbers of facts about something else.
    const named = kept[replaces - 1];
    const contradicted = named && isAbout(text, named.text) ? named : undefined;
    const former = kept.find((fact) => isSameFact(fact.text, text)) ?? contradicted;
    const replaced = former && !changes.some(({ id }) => id === former.id) ? former : undefined;
    if (replaced?.text === text) continue;
    changes.push({ id: replaced?.id ?? `${idPrefix}${randomUUID()}`, text, who, replaced });
  }
  return changes;
}

/** What the ids of remembered entries begin with: other entries are never replaced. */
const idPrefix = 'remembered-';

/** The metadata of a fact, as far as a storage that declares its fields has them. */
function metadataOf({ dialog }: Turn, { knowledge }: StringStorage) {
  const fields = knowledge?.fields && new Set(knowledge.fields.map(({ name }) => name));
  const [turn, time] = [dialog.interactions.length + 1, Math.floor(Date.now() / 1000)];
  return (who: FactSource['who']) =>
    Object.fromEntries(Object.entries({ who, turn, time }).filter(([name]) => fields?.has(name) ?? true));
}
