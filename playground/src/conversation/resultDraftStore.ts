import { create } from 'zustand';
import type { GivenResult } from './turnRecord.ts';

/** A result that is being written. */
export type ResultDraft = GivenResult;

/** The results that are being written, by the id of their call. */
export interface ResultDraftStore {
  readonly drafts: Readonly<Record<string, ResultDraft>>;
  change(callId: string, changed: Partial<ResultDraft>): void;
}

/** A result before anything is written. */
export const emptyResult: ResultDraft = { content: '', ok: true, lifespan: 'TURN' };

export const useResultDrafts = create<ResultDraftStore>()((set) => ({
  drafts: {},
  change: (callId, changed) =>
    set(({ drafts }) => ({ drafts: { ...drafts, [callId]: { ...(drafts[callId] ?? emptyResult), ...changed } } })),
}));
