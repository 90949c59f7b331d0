import { useEffect, useState } from 'react';
import { useConnection } from '../connection/connectionStore.ts';
import { useDocument } from '../document/documentStore.ts';
import { isEdited, openFile, saveDocument } from './documentActions.ts';
import { notifyFault } from './noticeStore.ts';

/**
 * What the page does with events of the window: Ctrl+S or Cmd+S saves, a dropped file is opened, leaving the page with unsaved
 * edits is asked about, and errors that nothing else has caught are shown.
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
    on('error', ({ error }) => error instanceof Error && notifyFault(pageFault(error)));
    on('unhandledrejection', ({ reason }) => notifyFault(pageFault(reason)));
    on('pagehide', ({ persisted }) => {
      // The server need not keep the session of a page that does not come back.
      if (!persisted) void useConnection.getState().client?.close();
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

const pageFault = (thrown: unknown): string =>
  `An error of the page: ${thrown instanceof Error ? thrown.message : String(thrown)}`;

const holdsFile = ({ dataTransfer }: DragEvent): boolean => dataTransfer?.types.includes('Files') ?? false;
