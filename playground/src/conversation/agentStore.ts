import { create } from 'zustand';
import { Fault, type AgentHandle } from '../../../src/client/index.ts';
import { useConnection } from '../connection/connectionStore.ts';
import { namedTools } from '../document/graphDocument.ts';
import { frameQueue } from './frameQueue.ts';
import { addChange, changeOf, type LiveField } from './liveParams.ts';
import { agentTitle, type ChangedParams, type MessageOptions, type PageAgent } from './pageAgent.ts';
import type { GivenResult } from './turnRecord.ts';
import { turnReducer, type TurnChange } from './turnReducer.ts';

/** All agents of the page, and the one that the canvas follows. */
export interface AgentStore {
  readonly agents: readonly PageAgent[];
  readonly active: number | undefined;
  /** Creates an agent of a graph and makes it the active one. @param history a dialog to continue, as JSON text. */
  create(graphName: string, graphText: string, modelName?: string, history?: string): Promise<void>;
  /**
   * Makes an agent anew in its place, of a text of its graph: with its dialog and its changed parameters, or without both.
   */
  startAgain(key: number, graphText: string, options: { readonly keepDialog: boolean }): Promise<void>;
  activate(key: number): void;
  selectTurn(key: number, number: number): void;
  /** Sends a message, as soon as the agent is made. @returns false where the agent cannot take it. */
  send(key: number, text: string, options?: MessageOptions): Promise<boolean>;
  cancel(key: number): void;
  /** Gives calls that await them their results. @throws Fault */
  submitResults(key: number, results: readonly (GivenResult & { readonly callId: string })[]): Promise<void>;
  /** Changes live parameters of a node. @throws Fault */
  changeParam(key: number, node: string, path: LiveField['path'], value: unknown): Promise<void>;
  /** The dialog as JSON text. @throws Fault */
  exportDialog(key: number): Promise<string>;
  clear(key: number): Promise<void>;
  remove(key: number): Promise<void>;
}

interface TimedChange {
  readonly key: number;
  readonly change: TurnChange;
  readonly at: number;
}

let lastKey = 0;
const faultOf = (thrown: unknown): Fault =>
  thrown instanceof Fault
    ? thrown
    : new Fault('INTERNAL', thrown instanceof Error ? thrown.message : String(thrown), { cause: thrown });

/** Changes the parameters of a new agent as those of the one before it, as far as its graph has them. */
async function changeAgain(handle: AgentHandle, changed: ChangedParams) {
  let changedParams: ChangedParams = {};
  const refusals: string[] = [];
  for (const [node, params] of Object.entries(changed)) {
    try {
      await handle.changeParams(node, params);
      changedParams = { ...changedParams, [node]: params };
    } catch (thrown) {
      refusals.push(`The changed parameters of ${node} were not set again: ${faultOf(thrown).message}`);
    }
  }
  return { changedParams, refusals };
}

const noAgent = {
  state: 'creating',
  fault: undefined,
  progress: undefined,
  warnings: [],
  handle: undefined,
  waiting: undefined,
  running: undefined,
  changedParams: {},
  selectedTurn: undefined,
} as const satisfies Partial<PageAgent>;

export const useAgents = create<AgentStore>()((set, get) => {
  const update = (key: number, change: (agent: PageAgent) => Partial<PageAgent>): void =>
    set(({ agents }) => ({
      agents: agents.map((agent) => (agent.key === key ? { ...agent, ...change(agent) } : agent)),
    }));
  const agentOf = (key: number): PageAgent | undefined => get().agents.find((agent) => agent.key === key);
  const applyAll = (items: readonly TimedChange[]): void => {
    for (const key of new Set(items.map((item) => item.key)))
      update(key, ({ turns }) => ({
        turns: items
          .filter((item) => item.key === key)
          .reduce((current, { change, at }) => turnReducer(current, change, at), turns),
      }));
  };
  const queue = frameQueue(applyAll);
  const changeTurn = (key: number, change: TurnChange): void => queue.add({ key, change, at: performance.now() });

  /** Makes the agent of a tab. @param changed parameters to change afterwards. */
  const make = async (key: number, history: string | undefined, changed: ChangedParams = {}): Promise<void> => {
    const { graphText: graph, modelName: defaultModelName } = agentOf(key) ?? { graphText: '', modelName: '' };
    try {
      const { client } = useConnection.getState();
      if (!client) throw new Fault('CONNECTION_FAILED', 'the page is not connected to a server; connect again');
      const handle = await client.createAgent({
        graph,
        tools: namedTools(graph),
        defaultModelName,
        enableDiagnostics: true,
        ...(history !== undefined && { history }),
        onProgress: (progress) => update(key, () => ({ progress })),
        onEvent: (event) => changeTurn(key, { type: 'event', event }),
      });
      const { changedParams, refusals } = await changeAgain(handle, changed);
      if (!agentOf(key)) return void handle[Symbol.asyncDispose]();
      const warnings = [...handle.warnings, ...refusals];
      update(key, () => ({ handle, state: 'ready', progress: undefined, warnings, changedParams }));
    } catch (thrown) {
      update(key, () => ({ state: 'failed', progress: undefined, fault: faultOf(thrown) }));
    }
  };

  /** Waits until an agent is made, with a message for it. @returns false when the message was withdrawn. */
  const untilMade = async (key: number, waiting: string): Promise<boolean> => {
    if (agentOf(key)?.state !== 'creating') return true;
    update(key, () => ({ waiting }));
    await new Promise<void>((resolve) => {
      const stop = useAgents.subscribe(() => {
        const agent = agentOf(key);
        if (agent?.state === 'creating' && agent.waiting !== undefined) return;
        stop();
        resolve();
      });
    });
    const isWanted = agentOf(key)?.waiting !== undefined;
    update(key, () => ({ waiting: undefined }));
    return isWanted;
  };

  /** Keeps the dialog, for the case that the session is lost. */
  const keepDialog = (key: number, handle: AgentHandle): void =>
    void handle.exportDialog().then(
      (dialog) => update(key, (agent) => (agent.handle === handle ? { dialog } : {})),
      () => {},
    );

  return {
    agents: [],
    active: undefined,
    async create(graphName, graphText, modelName = '', history = undefined) {
      const key = ++lastKey;
      set(({ agents }) => {
        const title = agentTitle(graphName, agents);
        const identity = { key, title, graphName, graphText, modelName, turns: [], carriedTurns: 0, dialog: history };
        return { agents: [...agents, { ...noAgent, ...identity }], active: key };
      });
      await make(key, history);
    },
    async startAgain(key, graphText, { keepDialog: keeps }) {
      const { running } = agentOf(key) ?? {};
      running?.cancel();
      if (running) await running.done.catch(() => {});
      const agent = agentOf(key);
      if (!agent || agent.state === 'creating') return;
      const { handle, state, changedParams } = agent;
      const exported = keeps && state === 'ready' ? await handle?.exportDialog().catch(() => undefined) : undefined;
      const history = keeps ? (exported ?? agent.dialog) : undefined;
      update(key, ({ turns }) => ({
        ...noAgent,
        graphText,
        dialog: history,
        turns: keeps ? turns : [],
        carriedTurns: keeps ? turns.length : 0,
      }));
      void handle?.[Symbol.asyncDispose]();
      await make(key, history, keeps ? changedParams : {});
    },
    activate: (active) => set({ active }),
    selectTurn: (key, selectedTurn) => {
      set({ active: key });
      update(key, () => ({ selectedTurn }));
    },
    async send(key, text, { variables = {}, priority = 'NORMAL' } = {}) {
      if (!(await untilMade(key, text))) return false;
      const { handle, running } = agentOf(key) ?? {};
      if (!handle || running) return false;
      changeTurn(key, { type: 'sent', text, variables, priority });
      const turn = handle.send(text, {
        variables,
        priority,
        onText: (piece, { nodeName: node, isDelta }) =>
          changeTurn(key, { type: 'text', text: piece, node, whole: !isDelta }),
        onField: (name, value, { node }) => changeTurn(key, { type: 'field', node, name, value }),
        onCall: (call) => changeTurn(key, { type: 'call', call }),
        onEvent: (event) => changeTurn(key, { type: 'event', event }),
      });
      queue.flushNow();
      update(key, () => ({ running: turn, selectedTurn: undefined }));
      try {
        changeTurn(key, { type: 'complete', summary: await turn });
      } catch (thrown) {
        changeTurn(key, { type: 'failed', fault: faultOf(thrown) });
      } finally {
        queue.flushNow();
        update(key, (agent) => (agent.running === turn ? { running: undefined } : {}));
        keepDialog(key, handle);
      }
      return true;
    },
    cancel(key) {
      const { running } = agentOf(key) ?? {};
      update(key, () => ({ waiting: undefined }));
      if (!running) return;
      changeTurn(key, { type: 'cancelled' });
      running.cancel();
    },
    async submitResults(key, results) {
      await agentOf(key)?.handle?.submitToolResults(results);
      for (const { callId, ...result } of results) changeTurn(key, { type: 'result', callId, result });
    },
    async changeParam(key, node, path, value) {
      await agentOf(key)?.handle?.changeParams(node, changeOf(path, value));
      update(key, ({ changedParams }) => ({ changedParams: addChange(changedParams, node, path, value) }));
    },
    exportDialog: async (key) => (await agentOf(key)?.handle?.exportDialog()) ?? agentOf(key)?.dialog ?? '[]',
    async clear(key) {
      await agentOf(key)?.handle?.clearDialog();
      queue.flushNow();
      update(key, () => ({ turns: [], carriedTurns: 0, dialog: undefined, selectedTurn: undefined }));
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

// The agents of a session end with it.
useConnection.subscribe(({ client, status }, { client: before }) => {
  if (!before || client === before) return;
  const reason = status.state === 'closed' ? status.reason : '';
  const fault = new Fault('CONNECTION_DROPPED', reason.replace(/\.$/, '') || 'the server does not have it any more');
  useAgents.setState(({ agents }) => ({
    agents: agents.map((agent) =>
      agent.state === 'ready' ? { ...agent, state: 'lost', fault, handle: undefined } : agent,
    ),
  }));
});
