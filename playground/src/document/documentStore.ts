import type { JSONPath } from 'jsonc-parser';
import { create } from 'zustand';
import { parseGraph, type GraphFault, type GraphFile } from './graphDocument.ts';
import { addNode, duplicateNode, removeNode, renameNode, setValue } from './graphEdits.ts';
import { shareUnchanged } from './shareUnchanged.ts';

/** The graph that is edited. Its text is the single source of truth: forms and the canvas edit the text. */
export interface DocumentStore {
  /** The name of the graph, without `.json`. */
  readonly name: string;
  readonly text: string;
  /** The text as it was opened or saved last. */
  readonly savedText: string;
  /** How often a document was opened: another number is another document. */
  readonly opened: number;
  /** The last text that was a JSON object. */
  readonly graph: GraphFile | undefined;
  /** Whether the text is a JSON object, so that forms and canvas can edit it. */
  readonly isEditable: boolean;
  /** Faults of the syntax at once, those of the server's check a little later. */
  readonly faults: readonly GraphFault[];
  /** The name of the selected node. */
  readonly selected: string | undefined;
  readonly undoable: readonly string[];
  readonly redoable: readonly string[];
  /** Replaces the document by another one. */
  open(name: string, text: string): void;
  /** @param group changes of one group within a short time are undone together. */
  setText(text: string, group?: string): void;
  /** Sets the value at a path, or removes it (undefined), and keeps the rest of the text as it is. */
  edit(path: JSONPath, value: unknown): void;
  addNode(name: string, node: object): void;
  removeNode(name: string): void;
  renameNode(from: string, to: string): void;
  duplicateNode(name: string, copy: string): void;
  /** Leads an exit to a node; undefined: the exit ends the turn. */
  connectExit(node: string, exit: string, target: string | undefined): void;
  setFaults(faults: readonly GraphFault[]): void;
  select(node: string | undefined): void;
  undo(): void;
  redo(): void;
  markSaved(): void;
}

const maxUndo = 200;
const groupMs = 1500;

export const useDocument = create<DocumentStore>()((set, get) => {
  let last = { group: '', at: 0 };
  const replace = (text: string, more: Partial<DocumentStore>): void => {
    const { graph: before, faults: all } = get();
    const { graph, faults: syntaxFaults } = parseGraph(text);
    const faults = syntaxFaults.length > 0 ? syntaxFaults : all.filter(({ offset }) => offset === undefined);
    set({
      text,
      graph: graph ? shareUnchanged(before, graph) : before,
      isEditable: graph !== undefined,
      faults: text === '' ? [] : faults,
      ...more,
    });
  };
  const change = (text: string, group: string, more: Partial<DocumentStore> = {}): void => {
    const { text: before, undoable } = get();
    if (text === before) return set(more);
    const now = performance.now();
    const isSameGroup = group !== '' && group === last.group && now - last.at < groupMs && undoable.length > 0;
    last = { group, at: now };
    replace(text, { undoable: isSameGroup ? undoable : [...undoable, before].slice(-maxUndo), redoable: [], ...more });
  };
  const step = (text: string, more: Partial<DocumentStore>): void => {
    last = { group: '', at: 0 };
    replace(text, more);
  };
  return {
    name: '',
    text: '',
    savedText: '',
    opened: 0,
    graph: undefined,
    isEditable: false,
    faults: [],
    selected: undefined,
    undoable: [],
    redoable: [],
    open(name, text) {
      set(({ opened }) => ({ graph: undefined, faults: [], opened: opened + 1 }));
      step(text, { name, savedText: text, undoable: [], redoable: [], selected: undefined });
    },
    setText: (text, group = '') => change(text, group),
    edit: (path, value) => change(setValue(get().text, path, value), value === undefined ? '' : path.join('/')),
    addNode: (name, node) => change(addNode(get().text, name, node), '', { selected: name }),
    removeNode(name) {
      const { text, selected } = get();
      change(removeNode(text, name), '', selected === name ? { selected: undefined } : {});
    },
    renameNode(from, to) {
      const { text, selected } = get();
      change(renameNode(text, from, to), '', selected === from ? { selected: to } : {});
    },
    duplicateNode: (name, copy) => change(duplicateNode(get().text, name, copy), '', { selected: copy }),
    connectExit: (node, exit, target) =>
      change(setValue(get().text, ['nodes', node, 'exits', exit], target || undefined), ''),
    setFaults: (faults) => set({ faults }),
    select: (selected) => set({ selected }),
    undo() {
      const { text, undoable, redoable } = get();
      const before = undoable.at(-1);
      if (before !== undefined) step(before, { undoable: undoable.slice(0, -1), redoable: [...redoable, text] });
    },
    redo() {
      const { text, undoable, redoable } = get();
      const after = redoable.at(-1);
      if (after !== undefined) step(after, { undoable: [...undoable, text], redoable: redoable.slice(0, -1) });
    },
    markSaved: () => set({ savedText: get().text }),
  };
});
