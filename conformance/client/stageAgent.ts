import { isDeepStrictEqual } from 'node:util';
import type { CreateAgentRequest } from '../../src/protocol/frames.gen.ts';
import { expectEqual } from '../expect.ts';
import type { ScriptedAgent } from './scriptedSession.ts';
import type { ClientRequest } from './scriptedConnection.ts';

/** An agent of the client program, which can be created again in another session. */
export class StageAgent {
  /** What the program calls it. */
  name = '';
  readonly #graph: object;
  #interactions: readonly object[];
  #agent: ScriptedAgent | undefined;
  #turns = 0;

  constructor(graph: object, dialog: readonly object[] = []) {
    this.#graph = graph;
    this.#interactions = dialog;
  }

  /** Its id in the session that it is in now. */
  get id(): number {
    return this.#agent?.id ?? 0;
  }

  /** Whether a request is for an agent with this graph. */
  matches({ graphJson = '' }: CreateAgentRequest): boolean {
    return isDeepStrictEqual(parsed(graphJson), this.#graph);
  }

  /** Checks graph and dialog of the request that creates this agent, or creates it again. @throws ConformanceFailure */
  check({ graphJson = '', historyJson }: CreateAgentRequest): void {
    expectEqual('the graph', parsed(graphJson), this.#graph, 'CreateAgentRequest');
    const history = historyJson === '' ? [] : parsed(historyJson);
    expectEqual('the dialog as history_json', history, this.#interactions, 'CreateAgentRequest');
  }

  /** Answers the request that creates this agent. */
  accept({ requestId, fields, connection }: ClientRequest<'createAgent'>, id = connection.session.takeAgentId()): void {
    this.#agent = connection.session.addAgent(id, fields);
    this.#turns = 0;
    connection.send(requestId, 'createAgent', { agentId: id, warnings: [] });
  }

  /** Begins a turn. Returns its id. */
  beginTurn(): number {
    return ++this.#turns;
  }

  /** Adds a finished turn to the dialog. */
  addInteraction(interaction: object): void {
    this.#interactions = [...this.#interactions, interaction];
    if (this.#agent) this.#agent.dialogJson = JSON.stringify(this.#interactions);
  }

  /** Checks that a request is for this agent. @throws ConformanceFailure */
  checkId(agentId: number): void {
    expectEqual('the agent_id', agentId, this.id, 'CreateAgentResponse');
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
