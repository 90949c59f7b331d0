import { Annotation, EditorState } from '@codemirror/state';
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import type { GraphFault } from '../document/graphDocument.ts';
import { pointerAt, pointerRange } from '../document/pointerRange.ts';
import { faultMarks, setFaultMarks } from './faultMarks.ts';
import { jsonHighlight } from './jsonHighlight.ts';
import { textChange } from './textChange.ts';
import { textKeys } from './textKeys.ts';

/** The text editor, made of CodeMirror. */
export interface TextEditor {
  /** Makes the text another one; the cursor stays where it is in what did not change. */
  setText(text: string): void;
  setFaults(faults: readonly GraphFault[]): void;
  /** Selects the value of a JSON pointer, or the place of an offset, and scrolls there. */
  reveal(pointer: string, offset: number | undefined): void;
  /** Selects the next place of a text after the cursor, or the one before it. @returns whether there is one. */
  find(query: string, backwards: boolean): boolean;
  close(): void;
}

/** What the text editor needs. */
export interface TextEditorOptions {
  readonly text: string;
  /** Called when the user has changed the text. */
  readonly onChange: (text: string) => void;
  readonly undo: () => void;
  readonly redo: () => void;
  /** Called with the JSON pointer of the value that the user has put the cursor into. */
  readonly onCursor: (pointer: string) => void;
  /** Called when the user wants to search. */
  readonly onFind: () => void;
}

const fromDocument = Annotation.define<boolean>();

/**
 * Creates a text editor in an element. Undo is that of the document, so that there is one history for forms and text.
 * Only the core of CodeMirror is used: its packages for languages and faults are a third of the whole page.
 */
export function createTextEditor(parent: HTMLElement, options: TextEditorOptions): TextEditor {
  const view = new EditorView({ parent, state: createState(options) });
  const reveal = (from: number, to: number): void =>
    view.dispatch({ selection: { anchor: from, head: to }, effects: EditorView.scrollIntoView(from, { y: 'center' }) });
  return {
    setText(next) {
      const change = textChange(view.state.doc.toString(), next);
      if (change) view.dispatch({ changes: change, annotations: fromDocument.of(true) });
    },
    setFaults(faults) {
      const { doc } = view.state;
      const shown = doc.toString();
      const marks = faults.map(({ pointer, offset, message, severity }) => {
        const { from, to } = offset === undefined ? pointerRange(shown, pointer) : { from: offset, to: offset + 1 };
        return { from: Math.min(from, doc.length), to: Math.min(Math.max(to, from), doc.length), message, severity };
      });
      view.dispatch({ effects: setFaultMarks.of(marks) });
    },
    reveal(pointer, offset) {
      const { from, to } =
        offset === undefined ? pointerRange(view.state.doc.toString(), pointer) : { from: offset, to: offset };
      reveal(from, to);
      view.focus();
    },
    find(query, backwards) {
      const text = view.state.doc.toString().toLowerCase();
      const { from, to } = view.state.selection.main;
      const needle = query.toLowerCase();
      const at = backwards
        ? text.lastIndexOf(needle, from - 1) >= 0 && from > 0
          ? text.lastIndexOf(needle, from - 1)
          : text.lastIndexOf(needle)
        : [text.indexOf(needle, to), text.indexOf(needle)].find((index) => index >= 0);
      if (query === '' || at === undefined || at < 0) return false;
      reveal(at, at + query.length);
      return true;
    },
    close: () => view.destroy(),
  };
}

function createState({ text, onChange, undo, redo, onCursor, onFind }: TextEditorOptions): EditorState {
  const run = (action: () => void) => () => {
    action();
    return true;
  };
  return EditorState.create({
    doc: text,
    extensions: [
      lineNumbers(),
      faultMarks,
      drawSelection(),
      highlightActiveLine(),
      highlightActiveLineGutter(),
      jsonHighlight,
      EditorView.lineWrapping,
      EditorState.tabSize.of(2),
      EditorView.contentAttributes.of({ 'aria-label': 'Graph file text', tabindex: '0' }),
      keymap.of([
        { key: 'Mod-z', run: run(undo), preventDefault: true },
        { key: 'Mod-Shift-z', run: run(redo), preventDefault: true },
        { key: 'Mod-y', run: run(redo), preventDefault: true },
        { key: 'Mod-f', run: run(onFind), preventDefault: true },
        ...textKeys,
      ]),
      EditorView.updateListener.of(({ docChanged, selectionSet, transactions, state }) => {
        const isOwn = transactions.some((transaction) => transaction.annotation(fromDocument));
        if (docChanged && !isOwn) onChange(state.doc.toString());
        if (selectionSet && transactions.some((transaction) => transaction.isUserEvent('select')))
          onCursor(pointerAt(state.doc.toString(), state.selection.main.head));
      }),
    ],
  });
}
