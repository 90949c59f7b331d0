import { useEffect, useRef, useState } from 'react';
import { useDocument } from '../document/documentStore.ts';
import { nodeOfPointer } from '../document/faultPlace.ts';
import { useFocus } from '../document/focusStore.ts';
import { createTextEditor, type TextEditor } from './textEditor.ts';

/** The graph as text, with a search in it. */
export function TextView() {
  const parent = useRef<HTMLDivElement>(null);
  const search = useRef<HTMLInputElement>(null);
  const editor = useRef<TextEditor>(undefined);
  const { text, faults } = useDocument();
  const { request, done } = useFocus();
  const [query, setQuery] = useState('');
  const [isFound, setFound] = useState(true);
  const find = (next: string, backwards: boolean): void => {
    setFound(next === '' || (editor.current?.find(next, backwards) ?? false));
  };
  useEffect(() => {
    const { undo, redo, setText, select } = useDocument.getState();
    const created = createTextEditor(parent.current ?? document.body, {
      text: useDocument.getState().text,
      onChange: (next) => setText(next, 'text'),
      onCursor: (pointer) => select(nodeOfPointer(pointer)),
      undo,
      redo,
      onFind: () => search.current?.select(),
    });
    editor.current = created;
    return () => created.close();
  }, []);
  useEffect(() => editor.current?.setText(text), [text]);
  useEffect(() => editor.current?.setFaults(faults), [faults, text]);
  useEffect(() => {
    if (!request) return;
    const syntaxFault = useDocument.getState().faults.find(({ offset }) => offset !== undefined);
    editor.current?.reveal(request.pointer, syntaxFault?.offset);
    done();
  }, [request, done]);
  return (
    <div className="inspector-text">
      <input
        ref={search}
        type="search"
        className="inspector-find"
        aria-label="Find in the text"
        aria-invalid={!isFound || undefined}
        placeholder="Find (Enter, Shift+Enter)"
        value={query}
        onChange={(event) => {
          setQuery(event.target.value);
          setFound(true);
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter') find(query, event.shiftKey);
        }}
      />
      <div className="inspector-code" ref={parent} />
    </div>
  );
}
