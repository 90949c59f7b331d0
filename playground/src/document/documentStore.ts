import { applyEdits, modify, type JSONPath } from 'jsonc-parser';
import { create } from 'zustand';
import { parseGraph, type GraphFault, type GraphFile } from './graphDocument.ts';

/** The graph that is edited. Its text is the single source of truth: forms and the canvas edit the text. */
export interface DocumentStore {
  /** The name of the graph, without `.json`. */
  readonly name: string;
  readonly text: string;
  /** The text as it was opened or saved last. */
  readonly savedText: string;
  /** The last text that was a JSON object. */
  readonly graph: GraphFile | undefined;
  /** Faults of the syntax at once, those of the server's check a little later. */
  readonly faults: readonly GraphFault[];
  /** The name of the selected node. */
  readonly selected: string | undefined;
  readonly undoable: readonly string[];
  readonly redoable: readonly string[];
  /** Replaces the document by another one. */
  open(name: string, text: string): void;
  setText(text: string): void;
  /** Sets the value at a path, or removes it (undefined), and keeps the rest of the text as it is. */
  edit(path: JSONPath, value: unknown): void;
  setFaults(faults: readonly GraphFault[]): void;
  select(node: string | undefined): void;
  undo(): void;
  redo(): void;
  markSaved(): void;
}

const maxUndo = 200;
const formattingOptions = { insertSpaces: true, tabSize: 2 } as const;

export const useDocument = create<DocumentStore>()((set, get) => {
  const replace = (text: string, more: Partial<DocumentStore>): void => {
    const { graph, faults } = parseGraph(text);
    set({ text, graph: graph ?? get().graph, ...(faults.length > 0 && { faults }), ...more });
  };
  return {
    name: '',
    text: '',
    savedText: '',
    graph: undefined,
    faults: [],
    selected: undefined,
    undoable: [],
    redoable: [],
    open(name, text) {
      set({ graph: undefined });
      replace(text, { name, savedText: text, undoable: [], redoable: [], selected: undefined });
    },
    setText(text) {
      const { text: before, undoable } = get();
      if (text !== before) replace(text, { undoable: [...undoable, before].slice(-maxUndo), redoable: [] });
    },
    edit(path, value) {
      const { text, setText } = get();
      setText(applyEdits(text, modify(text, path, value, { formattingOptions })));
    },
    setFaults: (faults) => set({ faults }),
    select: (selected) => set({ selected }),
    undo() {
      const { text, undoable, redoable } = get();
      const before = undoable.at(-1);
      if (before !== undefined) replace(before, { undoable: undoable.slice(0, -1), redoable: [...redoable, text] });
    },
    redo() {
      const { text, undoable, redoable } = get();
      const after = redoable.at(-1);
      if (after !== undefined) replace(after, { undoable: [...undoable, text], redoable: redoable.slice(0, -1) });
    },
    markSaved: () => set({ savedText: get().text }),
  };
});
