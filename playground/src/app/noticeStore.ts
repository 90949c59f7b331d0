import { create } from 'zustand';

/** A short message of the page to the user, such as a fault of an action. */
export interface Notice {
  readonly id: number;
  /** A fault stays until it is dismissed; a note goes by itself. */
  readonly tone: 'fault' | 'note';
  readonly text: string;
}

/** The messages that are shown. */
export interface NoticeStore {
  readonly notices: readonly Notice[];
  notify(tone: Notice['tone'], text: string): void;
  dismiss(id: number): void;
}

const noteMs = 8000;
let lastId = 0;

export const useNotices = create<NoticeStore>()((set, get) => ({
  notices: [],
  notify(tone, text) {
    const id = ++lastId;
    const others = get().notices.filter((notice) => notice.text !== text);
    set({ notices: [...others, { id, tone, text }] });
    if (tone === 'note') setTimeout(() => get().dismiss(id), noteMs);
  },
  dismiss: (id) => set(({ notices }) => ({ notices: notices.filter((notice) => notice.id !== id) })),
}));

/** Shows what was thrown as a fault. */
export const notifyFault = (thrown: unknown): void =>
  useNotices.getState().notify('fault', thrown instanceof Error ? thrown.message : String(thrown));
