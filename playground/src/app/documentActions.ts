import { create } from 'zustand';
import { fetchWithToken } from '../connection/connectionStore.ts';
import { useDocument } from '../document/documentStore.ts';
import { downloadFile } from '../ui/downloadFile.ts';
import { notifyFault, useNotices } from './noticeStore.ts';

/** A graph file that is to be opened. */
export interface NewDocument {
  readonly name: string;
  readonly text: string;
}

/** What the page knows of the server's graphs, and a document that waits for a decision. */
export interface DocumentActionStore {
  /** The names of the server's graphs. */
  readonly serverGraphs: readonly string[];
  /** The graph of the server that was opened last, as it was read. */
  readonly fromServer: NewDocument | undefined;
  /** Opens when the user has decided what becomes of unsaved edits. */
  readonly waiting: NewDocument | undefined;
}

export const useDocumentActions = create<DocumentActionStore>()(() => ({
  serverGraphs: [],
  fromServer: undefined,
  waiting: undefined,
}));

/** Whether the document has edits that were not saved. */
export const isEdited = ({ text, savedText }: { readonly text: string; readonly savedText: string }): boolean =>
  text !== savedText;

/** Reads the names of the server's graphs. */
export async function listServerGraphs(): Promise<void> {
  try {
    const { graphs } = (await readAnswer('/graphs')) as { readonly graphs: readonly string[] };
    useDocumentActions.setState({ serverGraphs: graphs });
  } catch (thrown) {
    notifyFault(thrown);
  }
}

/** Opens a graph of the server. */
export async function openServerGraph(name: string): Promise<void> {
  try {
    const graph = await readAnswer(`/graphs/${encodeURIComponent(name)}`);
    const document = { name, text: `${JSON.stringify(graph, null, 2)}\n` };
    useDocumentActions.setState({ fromServer: document });
    openDocument(document);
  } catch (thrown) {
    notifyFault(thrown);
  }
}

/** Opens a file of the user's machine. Its text may have faults: they are shown. */
export async function openFile(file: File): Promise<void> {
  const maxBytes = 8 * 1024 * 1024;
  if (!/\.json$/i.test(file.name)) return notifyFault(`${file.name} cannot be opened: a graph file ends with .json`);
  if (file.size > maxBytes) return notifyFault(`${file.name} cannot be opened: it has more than 8 MiB`);
  try {
    openDocument({ name: file.name.replace(/\.json$/i, ''), text: await file.text() });
  } catch (thrown) {
    notifyFault(`${file.name} cannot be read: ${String(thrown)}`);
  }
}

/** Replaces the document; asks first when it has unsaved edits. */
export function openDocument(document: NewDocument): void {
  if (isEdited(useDocument.getState())) return useDocumentActions.setState({ waiting: document });
  useDocumentActions.setState({ waiting: undefined });
  useDocument.getState().open(document.name, document.text);
}

/** Opens the document that waits, and loses the unsaved edits. */
export function openWaiting(): void {
  const { waiting } = useDocumentActions.getState();
  useDocumentActions.setState({ waiting: undefined });
  if (waiting) useDocument.getState().open(waiting.name, waiting.text);
}

/** Keeps the document as it is. */
export const dropWaiting = (): void => useDocumentActions.setState({ waiting: undefined });

/** Saves the document as a download of the browser. The server writes no file. */
export function saveDocument(): void {
  const { name, text, markSaved } = useDocument.getState();
  if (text === '') return;
  const fileName = fileNameOf(name);
  downloadFile(fileName, text);
  markSaved();
  useNotices.getState().notify('note', `${fileName} was saved as a download.`);
}

/** The name of the file of a graph. */
export const fileNameOf = (name: string): string => `${name || 'graph'}.json`;

async function readAnswer(path: string): Promise<unknown> {
  const answer = await fetchWithToken(path);
  const body: unknown = await answer.json().catch(() => ({}));
  if (answer.ok) return body;
  const { error = `the server answered ${answer.status} to ${path}` } = body as { readonly error?: string };
  throw new Error(error);
}
