import { create } from 'zustand';
import {
  Fault,
  type Client,
  type ModelInfo,
  type ModelProgress,
  type SuggestModelsResponse,
} from '../../../src/client/index.ts';
import { useConnection } from '../connection/connectionStore.ts';

/** What is being done with a model on behalf of this page. */
export interface ModelTask {
  readonly kind: 'loading' | 'unloading' | 'downloading' | 'cancelling' | 'deleting';
  readonly progress?: ModelProgress | undefined;
}

/** The catalogue of the server, and what is being done with its models. */
export interface ModelStore {
  readonly models: readonly ModelInfo[];
  /** Why the catalogue cannot be read, or no model suggested. */
  readonly fault: string | undefined;
  /** By the name of the model. */
  readonly tasks: Readonly<Record<string, ModelTask>>;
  /** The last error of an action, by the name of the model. */
  readonly faults: Readonly<Record<string, string>>;
  refresh(): Promise<void>;
  /** The models that fit the computer; undefined: `fault` has the reason. */
  suggest(): Promise<SuggestModelsResponse | undefined>;
  load(name: string): Promise<void>;
  unload(name: string): Promise<void>;
  /** Whether it is on disk then. */
  download(name: string): Promise<boolean>;
  cancelDownload(name: string): Promise<void>;
  remove(name: string): Promise<void>;
}

export const useModels = create<ModelStore>()((set, get) => {
  const setTask = (name: string, task: ModelTask | undefined): void =>
    set(({ tasks }) => ({ tasks: withEntry(tasks, name, task) }));
  const setFault = (name: string, thrown: unknown): void =>
    set(({ faults }) => ({ faults: withEntry(faults, name, thrown === undefined ? undefined : messageOf(thrown)) }));
  const run = async (
    name: string,
    kind: ModelTask['kind'],
    action: (client: Client, onProgress: (progress: ModelProgress) => void) => Promise<unknown>,
  ): Promise<boolean> => {
    setFault(name, undefined);
    setTask(name, { kind });
    const onProgress = (progress: ModelProgress): void => {
      if (get().tasks[name]?.kind === kind) setTask(name, { kind, progress });
    };
    try {
      await action(connectedClient(), onProgress);
      return true;
    } catch (thrown) {
      const isWanted = get().tasks[name]?.kind === 'cancelling' && Fault.from(thrown).name === 'DOWNLOAD_CANCELLED';
      if (!isWanted) setFault(name, thrown);
      return false;
    } finally {
      setTask(name, undefined);
      await get().refresh();
    }
  };
  return {
    models: [],
    fault: undefined,
    tasks: {},
    faults: {},
    async refresh() {
      try {
        set({ models: await connectedClient().listModels(), fault: undefined });
      } catch (thrown) {
        set({ fault: messageOf(thrown) });
      }
    },
    async suggest() {
      try {
        return await connectedClient().suggestModels();
      } catch (thrown) {
        set({ fault: messageOf(thrown) });
        return undefined;
      }
    },
    load: async (name) =>
      void (await run(name, 'loading', (client, onProgress) => client.loadModel(name, { onProgress }))),
    unload: async (name) => void (await run(name, 'unloading', (client) => client.unloadModel(name))),
    download: (name) => run(name, 'downloading', (client, onProgress) => client.downloadModel(name, { onProgress })),
    async cancelDownload(name) {
      // The request of the download then ends with DOWNLOAD_CANCELLED, and its task with it.
      if (get().tasks[name]) setTask(name, { kind: 'cancelling' });
      try {
        await connectedClient().cancelDownload(name);
      } catch (thrown) {
        setFault(name, thrown);
      }
    },
    remove: async (name) => void (await run(name, 'deleting', (client) => client.deleteModel(name))),
  };
});

function withEntry<Value>(
  entries: Readonly<Record<string, Value>>,
  name: string,
  value: Value | undefined,
): Readonly<Record<string, Value>> {
  const others = Object.entries(entries).filter(([key]) => key !== name);
  return Object.fromEntries(value === undefined ? others : [...others, [name, value]]);
}

const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

function connectedClient(): Client {
  const { client } = useConnection.getState();
  if (!client) throw new Error('the page is not connected to a server');
  return client;
}
