import type { AgentHandle, Fault, ModelProgress, SendOptions, TurnHandle } from '../../../src/client/index.ts';
import type { TurnRecord } from './turnRecord.ts';

/** What is sent with a message. */
export type MessageOptions = Pick<SendOptions, 'variables' | 'priority'>;

/** Changed parameters by node and name. */
export type ChangedParams = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** An agent of the page. */
export interface PageAgent {
  /** Its key on the page, from 1. */
  readonly key: number;
  /** Its name on the page: that of the graph, with a number from the second one on. */
  readonly title: string;
  /** The name of the graph, and its text when the agent was created. */
  readonly graphName: string;
  readonly graphText: string;
  /** The model that takes the place of the graph's default; "": none. */
  readonly modelName: string;
  /** `lost`: it was ready, and its session has ended. */
  readonly state: 'creating' | 'ready' | 'failed' | 'lost';
  /** Why it could not be created, or is gone. */
  readonly fault: Fault | undefined;
  /** The load of a model that its creation waits for. */
  readonly progress: ModelProgress | undefined;
  readonly warnings: readonly string[];
  readonly handle: AgentHandle | undefined;
  readonly turns: readonly TurnRecord[];
  /** A message that is sent when the agent is made. */
  readonly waiting: string | undefined;
  /** The turn that runs. */
  readonly running: TurnHandle | undefined;
  /** The dialog as it was exported after the last turn. */
  readonly dialog: string | undefined;
  /** So many of `turns` are from before it was started again. */
  readonly carriedTurns: number;
  readonly changedParams: ChangedParams;
  /** The number of the turn whose details are shown; undefined: the last one. */
  readonly selectedTurn: number | undefined;
}

/** The turn of an agent whose details are shown. */
export const shownTurn = ({ turns, selectedTurn }: PageAgent): TurnRecord | undefined =>
  turns.find(({ number }) => number === selectedTurn) ?? turns.at(-1);

/** The name of a new agent: that of its graph, with a number when another agent has it already. */
export function agentTitle(graphName: string, agents: readonly Pick<PageAgent, 'title'>[]): string {
  const base = graphName || 'graph';
  const isTaken = (title: string): boolean => agents.some((agent) => agent.title === title);
  const numbered = (number: number): string => (number === 1 ? base : `${base} ${number}`);
  let number = 1;
  while (isTaken(numbered(number))) number++;
  return numbered(number);
}
