import { create } from 'zustand';
import { nodeOfPointer } from './faultPlace.ts';
import { useDocument } from './documentStore.ts';

/** The views of the graph file beside the canvas. */
export type FileView = 'node' | 'text' | 'faults';

/** Which view of the graph file is open, and the place in it that was asked for last. */
export interface FocusStore {
  readonly view: FileView;
  /** A JSON pointer to show; another `serial` asks for it again. The view that has shown it calls `done`. */
  readonly request: { readonly pointer: string; readonly serial: number } | undefined;
  show(view: FileView): void;
  /**
   * Shows the value of a JSON pointer in the form of its node, or in the text where that is open, and focuses it. For a
   * node itself that is its name.
   */
  reveal(pointer: string, view?: FileView): void;
  done(): void;
}

export const useFocus = create<FocusStore>()((set) => ({
  view: 'node',
  request: undefined,
  show: (view) => set({ view }),
  reveal(pointer, view) {
    useDocument.getState().select(nodeOfPointer(pointer));
    set((before) => ({
      view: view ?? (before.view === 'text' ? 'text' : 'node'),
      request: { pointer, serial: (before.request?.serial ?? 0) + 1 },
    }));
  },
  done: () => set({ request: undefined }),
}));
