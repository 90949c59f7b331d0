import { useEffect, useState } from 'react';
import { useDocument } from '../document/documentStore.ts';
import { isEdited, openFile, saveDocument } from './documentActions.ts';

/**
 * What the page does with events of the window: Ctrl+S or Cmd+S saves, a dropped file is opened, and leaving the page with
 * unsaved edits is asked about.
 * @returns whether a file is held over the page.
 */
export function usePageEvents(): boolean {
  const [isDragged, setDragged] = useState(false);
  useEffect(() => {
    const listeners = new AbortController();
    const on = <Name extends keyof WindowEventMap>(name: Name, listener: (event: WindowEventMap[Name]) => void): void =>
      addEventListener(name, listener, { signal: listeners.signal });
    on('keydown', (event) => {
      if (event.key.toLowerCase() !== 's' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey)
        return;
      event.preventDefault();
      saveDocument();
    });
    on('beforeunload', (event) => {
      if (isEdited(useDocument.getState())) event.preventDefault();
    });
    on('dragover', (event) => {
      if (!holdsFile(event)) return;
      event.preventDefault();
      setDragged(true);
    });
    on('dragleave', ({ relatedTarget }) => relatedTarget === null && setDragged(false));
    on('drop', (event) => {
      setDragged(false);
      if (!holdsFile(event)) return;
      event.preventDefault();
      const file = event.dataTransfer?.files[0];
      if (file) void openFile(file);
    });
    return () => listeners.abort();
  }, []);
  return isDragged;
}

const holdsFile = ({ dataTransfer }: DragEvent): boolean => dataTransfer?.types.includes('Files') ?? false;
