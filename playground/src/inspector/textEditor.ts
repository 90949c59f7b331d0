import { defaultKeymap, indentWithTab } from '@codemirror/commands';
import { json } from '@codemirror/lang-json';
import {
  bracketMatching,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from '@codemirror/language';
import { lintGutter, setDiagnostics } from '@codemirror/lint';
import { Annotation, EditorState } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import type { GraphFault } from '../document/graphDocument.ts';
import { pointerRange } from '../document/pointerRange.ts';
import { textChange } from './textChange.ts';

/** The text editor, made of CodeMirror. */
export interface TextEditor {
  /** Makes the text another one; the cursor stays where it is in what did not change. */
  setText(text: string): void;
  setFaults(faults: readonly GraphFault[]): void;
  /** Selects the value of a JSON pointer, or the place of an offset, and scrolls there. */
  reveal(pointer: string, offset: number | undefined): void;
  close(): void;
}

/** What the text editor needs. */
export interface TextEditorOptions {
  readonly text: string;
  /** Called when the user has changed the text. */
  readonly onChange: (text: string) => void;
  readonly undo: () => void;
  readonly redo: () => void;
}

const fromDocument = Annotation.define<boolean>();

const colors = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--accent)' },
  { tag: tags.string, color: 'var(--ok)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--type-route)' },
  { tag: tags.invalid, color: 'var(--error)' },
]);

/** Creates a text editor in an element. Undo is that of the document, so that there is one history for forms and text. */
export function createTextEditor(parent: HTMLElement, { text, onChange, undo, redo }: TextEditorOptions): TextEditor {
  const run = (action: () => void) => () => {
    action();
    return true;
  };
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        foldGutter(),
        lintGutter(),
        drawSelection(),
        highlightActiveLine(),
        bracketMatching(),
        indentOnInput(),
        json(),
        syntaxHighlighting(colors),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ 'aria-label': 'Graph file text' }),
        keymap.of([
          { key: 'Mod-z', run: run(undo), preventDefault: true },
          { key: 'Mod-Shift-z', run: run(redo), preventDefault: true },
          { key: 'Mod-y', run: run(redo), preventDefault: true },
          ...defaultKeymap,
          ...foldKeymap,
          indentWithTab,
        ]),
        EditorView.updateListener.of(({ docChanged, transactions, state }) => {
          const isOwn = transactions.some((transaction) => transaction.annotation(fromDocument));
          if (docChanged && !isOwn) onChange(state.doc.toString());
        }),
      ],
    }),
  });
  return {
    setText(next) {
      const change = textChange(view.state.doc.toString(), next);
      if (change) view.dispatch({ changes: change, annotations: fromDocument.of(true) });
    },
    setFaults(faults) {
      const { doc } = view.state;
      const shown = doc.toString();
      const diagnostics = faults.map(({ pointer, offset, message, severity }) => {
        const { from, to } = offset === undefined ? pointerRange(shown, pointer) : { from: offset, to: offset + 1 };
        return { from: Math.min(from, doc.length), to: Math.min(Math.max(to, from), doc.length), message, severity };
      });
      view.dispatch(setDiagnostics(view.state, diagnostics));
    },
    reveal(pointer, offset) {
      const { from, to } =
        offset === undefined ? pointerRange(view.state.doc.toString(), pointer) : { from: offset, to: offset };
      view.dispatch({
        selection: { anchor: from, head: to },
        effects: EditorView.scrollIntoView(from, { y: 'center' }),
      });
      view.focus();
    },
    close: () => view.destroy(),
  };
}
