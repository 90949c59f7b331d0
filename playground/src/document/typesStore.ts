import { create } from 'zustand';
import { fetchWithToken } from '../connection/connectionStore.ts';
import { noTypes, readGraphTypes, type GraphTypes } from './graphTypes.ts';

/** The node types of the server, from its graph.schema.json; with those of its extensions. */
export interface TypesStore {
  readonly types: GraphTypes;
  /** Why there are none. */
  readonly reason: string | undefined;
  load(): Promise<void>;
}

export const useTypes = create<TypesStore>()((set) => ({
  types: noTypes,
  reason: undefined,
  async load() {
    try {
      const answer = await fetchWithToken('/schema/graph.schema.json');
      if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
      set({ types: readGraphTypes((await answer.json()) as object), reason: undefined });
    } catch (thrown) {
      set({ reason: `The schema of graphs could not be loaded: ${String(thrown)}` });
    }
  },
}));
