import { useEffect, useRef } from 'react';
import { useDocument } from '../document/documentStore.ts';
import { useFocus } from '../document/focusStore.ts';
import { createTextEditor, type TextEditor } from './textEditor.ts';

/** The graph as text. */
export function TextView() {
  const parent = useRef<HTMLDivElement>(null);
  const editor = useRef<TextEditor>(undefined);
  const { text, faults } = useDocument();
  const { request, done } = useFocus();
  useEffect(() => {
    const { undo, redo, setText } = useDocument.getState();
    const created = createTextEditor(parent.current ?? document.body, {
      text: useDocument.getState().text,
      onChange: (next) => setText(next, 'text'),
      undo,
      redo,
    });
    editor.current = created;
    return () => created.close();
  }, []);
  useEffect(() => editor.current?.setText(text), [text]);
  useEffect(() => editor.current?.setFaults(faults), [faults, text]);
  useEffect(() => {
    if (!request) return;
    editor.current?.reveal(
      request.pointer,
      useDocument.getState().faults.find(({ offset }) => offset !== undefined)?.offset,
    );
    done();
  }, [request, done]);
  return <div className="inspector-text" ref={parent} />;
}
