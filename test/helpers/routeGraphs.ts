import type { GraphDocument } from './graphs.ts';
import type { TurnResult } from './server.ts';

/** A label of a Route node. */
export interface LabelDocument {
  readonly name: string;
  readonly when?: string;
  readonly examples?: readonly string[];
  readonly patterns?: readonly string[];
}

/** Chooses a label, and answers with a line that names it, by whichever exit. */
export const routed = (labels: readonly LabelDocument[], params: object = {}): GraphDocument => ({
  start_node: 'sort',
  nodes: {
    sort: {
      type: 'Route',
      params: { labels, ...params },
      exits: Object.fromEntries([...labels.map(({ name }) => name), 'not_matched'].map((exit) => [exit, 'say'])),
    },
    say: { type: 'CannedResponse', params: { inline_strings: ['label: {{route}}'] } },
  },
});

/** The payload of the NodeEvent `route`. */
export interface RoutePayload {
  readonly label: string;
  readonly probabilities?: Readonly<Record<string, number>>;
}

/** The payloads of the route events of a turn. */
export const routesOf = ({ events }: Pick<TurnResult, 'events'>): readonly RoutePayload[] =>
  events.flatMap(({ eventType, payloadJson }) =>
    eventType === 'route' ? [JSON.parse(payloadJson) as RoutePayload] : [],
  );
