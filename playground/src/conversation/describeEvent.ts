import type { TurnEvent } from '../../../src/client/index.ts';
import type { GraphFile } from '../document/graphDocument.ts';
import { argumentLine, shownArguments } from './callArguments.ts';

/** An event as a person reads it. */
export interface DescribedEvent {
  /** One sentence. */
  readonly sentence: string;
  /** More, one line each. */
  readonly lines: readonly string[];
  /** Numbers from 0 to 1 by name, shown as bars. */
  readonly shares?: readonly { readonly name: string; readonly share: number }[];
  /** A longer text, shown on demand. */
  readonly text?: string;
  readonly tone: 'info' | 'warn';
}

type Payload = Readonly<Record<string, unknown>>;
type Describe = (payload: Payload, graph: GraphFile | undefined, node: string) => DescribedEvent;

const isObject = (value: unknown): value is Payload => typeof value === 'object' && value !== null;
const asText = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
const objects = (value: unknown): readonly Payload[] => (Array.isArray(value) ? value.filter(isObject) : []);
const names = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.map((item: unknown) => (isObject(item) ? asText(item['name']) : asText(item))) : [];

function callText({ tool, arguments: args }: Payload): string {
  const line = argumentLine(shownArguments(JSON.stringify(args ?? {})));
  return line === '' ? asText(tool) : `${asText(tool)} (${line})`;
}

const info = (sentence: string, more: Partial<DescribedEvent> = {}): DescribedEvent => ({
  sentence,
  lines: [],
  tone: 'info',
  ...more,
});
const warning = (sentence: string, more: Partial<DescribedEvent> = {}): DescribedEvent =>
  info(sentence, { ...more, tone: 'warn' });

const params = (of: string, value: unknown): readonly string[] =>
  objects(value).map(({ name, message }) => `${of} ${asText(name)}: ${asText(message)}`);

const listed = (texts: unknown): readonly string[] => (Array.isArray(texts) ? texts.map(asText) : []);

const describers: Readonly<Record<string, Describe>> = {
  tool_insight: (payload) =>
    warning(`The call ${callText(payload)} is not sent.`, {
      lines: [...params('missing', payload['missing']), ...params('invalid', payload['invalid'])],
    }),
  call_pending: ({ tool_name, missing }) =>
    info(`The call of ${asText(tool_name)} is kept for later turns.`, { lines: params('missing', missing) }),
  call_completed: ({ tool_name: tool, arguments: args }) =>
    info(`The pending call ${callText({ tool, arguments: args })} is complete.`),
  call_dropped: ({ tool_name, reason }) =>
    info(`The pending call of ${asText(tool_name)} is dropped: ${asText(reason)}.`),
  call_unread: ({ text, reason }) => warning(`A call could not be read: ${asText(reason)}.`, { text: asText(text) }),
  call_repeated: (payload) => info(`The call ${callText(payload)} was answered before in this turn.`),
  already_known: (payload) => info(`The call ${callText(payload)} is answered by a result of an earlier turn.`),
  tool_retry: ({ reason, attempt }) =>
    warning(`The model is asked again, attempt ${asText(attempt)}: ${asText(reason)}.`),
  remembered: ({ texts }) => info('Remembered.', { lines: listed(texts) }),
  forgotten: ({ texts }) => info('Forgotten.', { lines: listed(texts) }),
  route({ label, probabilities }) {
    const sentence = label === '' || label === undefined ? 'No label was chosen.' : `Route: ${asText(label)}.`;
    if (!isObject(probabilities)) return info(sentence);
    const shares = Object.entries(probabilities)
      .map(([name, share]) => ({ name, share: Number(share) }))
      .toSorted((a, b) => b.share - a.share);
    return info(sentence, { shares });
  },
  routed({ label, similarity, margin, nearest }) {
    const sentence = label === '' || label === undefined ? 'No label was chosen.' : `Route: ${asText(label)}.`;
    const rounded = (value: unknown): string => Number(value).toFixed(2);
    return info(sentence, {
      lines: [`nearest: ${asText(nearest)}`, `similarity ${rounded(similarity)}, margin ${rounded(margin)}`],
    });
  },
  guardrail_triggered({ index }, graph, node) {
    const patterns = graph?.nodes[node]?.params?.['inline_strings'];
    const pattern: unknown = Array.isArray(patterns) ? patterns[Number(index)] : undefined;
    return info(typeof pattern === 'string' ? `The pattern ${pattern} matched.` : `Pattern ${asText(index)} matched.`);
  },
  tools_selected({ guidelines, not_matched: others, tools, cut }) {
    const list = (label: string, value: unknown): readonly string[] =>
      names(value).length > 0 ? [`${label}: ${names(value).join(', ')}`] : [];
    const shares = [...objects(guidelines), ...objects(others)].flatMap(({ name, probability }) =>
      typeof probability === 'number' ? [{ name: asText(name), share: probability }] : [],
    );
    return info(names(tools).length > 0 ? `Tools: ${names(tools).join(', ')}.` : 'No tools are selected.', {
      lines: [
        ...list('guidelines that hold', guidelines),
        ...list('guidelines that do not hold', others),
        ...list('cut by max_tools', cut),
      ],
      ...(shares.length > 0 && { shares }),
    });
  },
  reasoning: ({ text }) => info('Reasoning', { text: asText(text) }),
  retrieved(payload) {
    const { source, query, found } = payload;
    const hits = objects(payload['hits']);
    const place = `knowledge_${asText(source)}`;
    const entries = hits.length === 1 ? 'one entry' : `${hits.length} entries`;
    const sentence = found === true ? `Found ${entries}, in ${place}.` : `Found nothing that fits, in ${place}.`;
    return info(sentence, {
      lines: [
        `query: ${asText(query)}`,
        ...hits.map(({ id, score }) => `${asText(id)}: ${Number(Number(score).toPrecision(4))}`),
      ],
    });
  },
};

/** Describes an event. @param graph the agent's graph: it has the patterns that events name by index. */
export function describeEvent({ eventType, nodeName, payload }: TurnEvent, graph?: GraphFile): DescribedEvent {
  const describe = Object.hasOwn(describers, eventType) ? describers[eventType] : undefined;
  if (describe) return describe(isObject(payload) ? payload : {}, graph, nodeName);
  const values = isObject(payload) ? Object.entries(payload) : [];
  return info(eventType.replaceAll('_', ' '), { lines: values.map(([name, value]) => `${name}: ${asText(value)}`) });
}
