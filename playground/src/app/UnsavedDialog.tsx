import { useDocument } from '../document/documentStore.ts';
import { Button } from '../ui/Button.tsx';
import { Dialog } from '../ui/Dialog.tsx';
import { dropWaiting, openWaiting, saveDocument, useDocumentActions } from './documentActions.ts';

/** Asks what becomes of unsaved edits before another document is opened. */
export function UnsavedDialog() {
  const waiting = useDocumentActions((store) => store.waiting);
  const name = useDocument((store) => store.name);
  if (!waiting) return undefined;
  const saveFirst = (): void => {
    saveDocument();
    openWaiting();
  };
  return (
    <Dialog
      title="Unsaved edits"
      onClose={dropWaiting}
      foot={
        <>
          <Button onClick={dropWaiting}>Keep editing</Button>
          <Button variant="danger" onClick={openWaiting}>
            Discard edits
          </Button>
          <Button variant="primary" onClick={saveFirst}>
            Save first
          </Button>
        </>
      }
    >
      <p>
        The edits of <strong>{name || 'this graph'}</strong> are not saved. Opening <strong>{waiting.name}</strong>{' '}
        replaces them.
      </p>
    </Dialog>
  );
}
