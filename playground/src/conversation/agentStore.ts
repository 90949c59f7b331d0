import { create } from 'zustand';
import { Fault, type AgentHandle, type TurnHandle } from '../../../src/client/index.ts';
import { useConnection } from '../connection/connectionStore.ts';
import { turnReducer, type TurnChange } from './turnReducer.ts';
import type { TurnRecord } from './turnRecord.ts';

/** An agent of the page. */
export interface PageAgent {
  /** Its key on the page, from 1. */
  readonly key: number;
  /** The name of the graph, and its text when the agent was created. */
  readonly graphName: string;
  readonly graphText: string;
  readonly state: 'creating' | 'ready' | 'failed';
  /** Why it could not be created, or is gone. */
  readonly fault: string | undefined;
  readonly warnings: readonly string[];
  readonly handle: AgentHandle | undefined;
  readonly turns: readonly TurnRecord[];
  /** The turn that runs. */
  readonly running: TurnHandle | undefined;
}

/** All agents of the page, and the one that the canvas follows. */
export interface AgentStore {
  readonly agents: readonly PageAgent[];
  readonly active: number | undefined;
  /** Creates an agent of a graph and makes it the active one. */
  create(graphName: string, graphText: string, defaultModelName?: string): Promise<void>;
  activate(key: number): void;
  send(key: number, text: string, variables?: Readonly<Record<string, string>>): Promise<void>;
  cancel(key: number): void;
  /** Gives a call that awaits it its result. @throws Fault */
  submitResult(key: number, callId: string, result: { readonly ok: boolean; readonly content: string }): Promise<void>;
  /** Changes live parameters of a node. @throws Fault */
  changeParams(key: number, node: string, params: object): Promise<void>;
  clear(key: number): Promise<void>;
  remove(key: number): Promise<void>;
}

let lastKey = 0;
const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

export const useAgents = create<AgentStore>()((set, get) => {
  const update = (key: number, change: (agent: PageAgent) => Partial<PageAgent>): void =>
    set(({ agents }) => ({
      agents: agents.map((agent) => (agent.key === key ? { ...agent, ...change(agent) } : agent)),
    }));
  const agentOf = (key: number): PageAgent | undefined => get().agents.find((agent) => agent.key === key);
  const changeTurn = (key: number, change: TurnChange): void =>
    update(key, ({ turns }) => ({ turns: turnReducer(turns, change, performance.now()) }));
  return {
    agents: [],
    active: undefined,
    async create(graphName, graphText, defaultModelName = '') {
      const key = ++lastKey;
      const agent: PageAgent = {
        key,
        graphName,
        graphText,
        state: 'creating',
        fault: undefined,
        warnings: [],
        handle: undefined,
        turns: [],
        running: undefined,
      };
      set(({ agents }) => ({ agents: [...agents, agent], active: key }));
      try {
        const { client } = useConnection.getState();
        if (!client) throw new Error('the page is not connected to a server');
        const handle = await client.createAgent({ graph: graphText, defaultModelName, enableDiagnostics: true });
        update(key, () => ({ handle, state: 'ready', warnings: handle.warnings }));
      } catch (thrown) {
        update(key, () => ({ state: 'failed', fault: messageOf(thrown) }));
      }
    },
    activate: (active) => set({ active }),
    async send(key, text, variables = {}) {
      const { handle, running } = agentOf(key) ?? {};
      if (!handle || running) return;
      changeTurn(key, { type: 'sent', text, variables });
      const turn = handle.send(text, { variables });
      update(key, () => ({ running: turn }));
      try {
        for await (const step of turn) changeTurn(key, { type: 'update', update: step });
      } catch (thrown) {
        const fault = thrown instanceof Fault ? thrown : new Fault('INTERNAL', messageOf(thrown));
        changeTurn(key, { type: 'failed', fault });
      } finally {
        update(key, () => ({ running: undefined }));
      }
    },
    cancel: (key) => void agentOf(key)?.running?.cancel(),
    async submitResult(key, callId, result) {
      await agentOf(key)?.handle?.submitToolResults([{ callId, ...result }]);
      changeTurn(key, { type: 'result', callId, result });
    },
    changeParams: async (key, node, params) => agentOf(key)?.handle?.changeParams(node, params),
    async clear(key) {
      await agentOf(key)?.handle?.clearDialog();
      update(key, () => ({ turns: [] }));
    },
    async remove(key) {
      const { handle } = agentOf(key) ?? {};
      set(({ agents, active }) => {
        const others = agents.filter((agent) => agent.key !== key);
        return { agents: others, active: active === key ? others.at(-1)?.key : active };
      });
      await handle?.[Symbol.asyncDispose]();
    },
  };
});

/** The agent that the canvas follows. */
export const activeAgent = ({ agents, active }: AgentStore): PageAgent | undefined =>
  agents.find(({ key }) => key === active);
