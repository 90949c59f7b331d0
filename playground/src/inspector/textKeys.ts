import type { EditorView, KeyBinding } from '@codemirror/view';

/** A new line with the indentation of the line before, deeper after a bracket. */
function insertLine(view: EditorView): boolean {
  const { state } = view;
  const { from, to } = state.selection.main;
  const line = state.doc.lineAt(from);
  const before = state.doc.sliceString(line.from, from);
  const [indentation = ''] = /^\s*/.exec(before) ?? [];
  const opens = /[[{]\s*$/.test(before);
  const closes = /^\s*[\]}]/.test(state.doc.sliceString(to, line.to));
  const inner = `\n${indentation}${opens ? '  ' : ''}`;
  view.dispatch({
    changes: { from, to, insert: inner + (opens && closes ? `\n${indentation}` : '') },
    selection: { anchor: from + inner.length },
    scrollIntoView: true,
  });
  return true;
}

const moveTo =
  (place: (view: EditorView) => { readonly anchor: number; readonly head: number }) =>
  (view: EditorView): boolean => {
    view.dispatch({ selection: place(view), scrollIntoView: true });
    return true;
  };

const head = (view: EditorView): number => view.state.selection.main.anchor;
const end = (view: EditorView): number => view.state.doc.length;

/** Keys that the browser itself does not know in a text of which only the visible part is in the page. Tab leaves the editor. */
export const textKeys: readonly KeyBinding[] = [
  { key: 'Enter', run: insertLine },
  { key: 'Mod-a', run: moveTo((view) => ({ anchor: 0, head: end(view) })) },
  {
    key: 'Mod-Home',
    run: moveTo(() => ({ anchor: 0, head: 0 })),
    shift: moveTo((view) => ({ anchor: head(view), head: 0 })),
  },
  {
    key: 'Mod-End',
    run: moveTo((view) => ({ anchor: end(view), head: end(view) })),
    shift: moveTo((view) => ({ anchor: head(view), head: end(view) })),
  },
];
