import { useEffect } from 'react';
import { useDocument } from './documentStore.ts';

/**
 * Ctrl+Z and Ctrl+Shift+Z (Cmd on a Mac) undo and redo changes of the document, wherever the focus is in it.
 * @param places selector of the parts of the page that edit the document; elsewhere the keys are those of the browser.
 */
export function useUndoKeys(places: string): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const key = event.key.toLowerCase();
      const isUndo = key === 'z' && !event.shiftKey;
      const isRedo = (key === 'z' && event.shiftKey) || key === 'y';
      const { target } = event;
      const isHere = target === document.body || (target instanceof Element && target.closest(places) !== null);
      if (!(event.ctrlKey || event.metaKey) || event.defaultPrevented || !isHere || !(isUndo || isRedo)) return;
      event.preventDefault();
      const { undo, redo } = useDocument.getState();
      if (isUndo) undo();
      else redo();
    };
    window.addEventListener('keydown', onKeyDown);
    return () => window.removeEventListener('keydown', onKeyDown);
  }, [places]);
}
