import { Decoration, ViewPlugin, type DecorationSet, type EditorView } from '@codemirror/view';
import { jsonTokens } from './jsonTokens.ts';

/** The colours of JSON in the part of the text that is visible. */
export const jsonHighlight = ViewPlugin.define(
  (view) => {
    const plugin: {
      decorations: DecorationSet;
      update(update: { docChanged: boolean; viewportChanged: boolean }): void;
    } = {
      decorations: highlight(view),
      update({ docChanged, viewportChanged }) {
        if (docChanged || viewportChanged) plugin.decorations = highlight(view);
      },
    };
    return plugin;
  },
  { decorations: (plugin) => plugin.decorations },
);

// Strings of JSON do not go over the end of a line, so each line can be read by itself.
function highlight({ state, visibleRanges }: EditorView): DecorationSet {
  const marks = visibleRanges.flatMap(({ from, to }) => {
    const start = state.doc.lineAt(from).from;
    const tokens = jsonTokens(state.doc.sliceString(start, state.doc.lineAt(to).to), start);
    return tokens.map((token) =>
      Decoration.mark({ class: `inspector-json-${token.kind}` }).range(token.from, token.to),
    );
  });
  return Decoration.set(marks, true);
}
