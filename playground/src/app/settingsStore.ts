import { create } from 'zustand';
import { createJSONStorage, persist, type StateStorage } from 'zustand/middleware';

/** The colours of the page: those of the system, or one of the two themes. */
export type Theme = 'system' | 'dark' | 'light';

/** What the user has chosen, besides the document. It is kept in the browser (localStorage). */
export interface SettingsStore {
  readonly theme: Theme;
  /** The model of agents whose graph has no `default_model_name`; "" : none is chosen yet. */
  readonly defaultModelName: string;
  /** The sizes of the panels, in percent of the room that each shares with its neighbour. */
  readonly sizes: PanelSizes;
  setTheme(theme: Theme): void;
  setDefaultModelName(defaultModelName: string): void;
  setSize(panel: keyof PanelSizes, percent: number): void;
}

/** The sizes of the panels, in percent. */
export interface PanelSizes {
  /** The width of the graph with its forms. */
  readonly graph: number;
  /** The height of the canvas. */
  readonly canvas: number;
  /** The height of the conversation. */
  readonly conversation: number;
}

/** The browser's storage. Where it is turned off or full, settings hold until the page is left. */
const storage: StateStorage = {
  getItem: (name) => quietly(() => localStorage.getItem(name)) ?? null,
  setItem: (name, value) => quietly(() => localStorage.setItem(name, value)),
  removeItem: (name) => quietly(() => localStorage.removeItem(name)),
};

function quietly<Result>(access: () => Result): Result | undefined {
  try {
    return access();
  } catch {
    return undefined;
  }
}

export const useSettings = create<SettingsStore>()(
  persist(
    (set) => ({
      theme: 'system',
      defaultModelName: '',
      sizes: { graph: 58, canvas: 58, conversation: 60 },
      setTheme: (theme) => set({ theme }),
      setDefaultModelName: (defaultModelName) => set({ defaultModelName }),
      setSize: (panel, percent) => set(({ sizes }) => ({ sizes: { ...sizes, [panel]: percent } })),
    }),
    { name: 'turngraph.settings', version: 1, storage: createJSONStorage(() => storage) },
  ),
);
