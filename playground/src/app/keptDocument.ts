import { readTab, writeTab } from '../connection/tabStorage.ts';
import { useDocument } from '../document/documentStore.ts';
import { isEdited } from './documentActions.ts';
import { useNotices } from './noticeStore.ts';

const key = 'turngraph.document';

interface KeptDocument {
  readonly name: string;
  readonly text: string;
  readonly savedText: string;
}

/** Keeps the document in the browser's tab (sessionStorage), so that a reload of the page loses no edit. */
export function keepDocument(): void {
  restoreDocument();
  useDocument.subscribe(({ name, text, savedText }, before) => {
    if (name === before.name && text === before.text && savedText === before.savedText) return;
    // Where it cannot be kept, leaving the page with unsaved edits warns all the same.
    writeTab(key, JSON.stringify({ name, text, savedText } satisfies KeptDocument));
  });
}

function restoreDocument(): void {
  const kept = readKept();
  if (!kept || kept.text === '') return;
  const { open, setText } = useDocument.getState();
  open(kept.name, kept.savedText);
  setText(kept.text);
  if (isEdited(kept)) useNotices.getState().notify('note', `Your unsaved edits of ${kept.name} are back.`);
}

function readKept(): KeptDocument | undefined {
  try {
    const { name, text, savedText } = JSON.parse(readTab(key) ?? '{}') as Partial<KeptDocument>;
    return typeof name === 'string' && typeof text === 'string' && typeof savedText === 'string'
      ? { name, text, savedText }
      : undefined;
  } catch {
    return undefined;
  }
}
