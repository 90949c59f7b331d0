import { create } from 'zustand';
import type { MessageOptions } from './pageAgent.ts';

/** A row of the variables; a row without a name is not sent. */
export interface VariableRow {
  readonly name: string;
  readonly value: string;
}

/** The message that is being written. All agents share it. */
export interface DraftStore {
  readonly text: string;
  readonly variables: readonly VariableRow[];
  readonly priority: NonNullable<MessageOptions['priority']>;
  /** The messages that were sent, and which of them was brought back. */
  readonly sent: readonly string[];
  readonly recalled: number | undefined;
  setText(text: string): void;
  /** Puts a sentence behind what is there. */
  addSentence(sentence: string): void;
  setVariables(variables: readonly VariableRow[]): void;
  setPriority(priority: DraftStore['priority']): void;
  /** Brings back the message before (-1) or after (1) the one that is shown. @returns whether there is one. */
  recall(step: -1 | 1): boolean;
  /** Empties the message. Variables and priority stay, for the next one. */
  markSent(): void;
}

const maxSent = 100;

export const useDraft = create<DraftStore>()((set, get) => ({
  text: '',
  variables: [],
  priority: 'NORMAL',
  sent: [],
  recalled: undefined,
  setText: (text) => set({ text, recalled: undefined }),
  addSentence: (sentence) =>
    set(({ text }) => ({ text: [text.trimEnd(), sentence].filter(Boolean).join(' '), recalled: undefined })),
  setVariables: (variables) => set({ variables }),
  setPriority: (priority) => set({ priority }),
  recall(step) {
    const { sent, recalled = sent.length } = get();
    const next = recalled + step;
    if (next < 0 || next > sent.length || (step === 1 && recalled === sent.length)) return false;
    set({ text: sent[next] ?? '', recalled: next === sent.length ? undefined : next });
    return true;
  },
  markSent: () =>
    set(({ text, sent }) => ({
      text: '',
      recalled: undefined,
      sent: sent.at(-1) === text ? sent : [...sent, text].slice(-maxSent),
    })),
}));

/** The variables as they are sent: the last of several rows with one name counts. */
export const variablesOf = (rows: readonly VariableRow[]): Readonly<Record<string, string>> =>
  Object.fromEntries(rows.flatMap(({ name, value }) => (name.trim() === '' ? [] : [[name.trim(), value]])));
