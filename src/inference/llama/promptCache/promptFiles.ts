import type { StateFile } from '../kvCache/stateFiles.ts';

/** The state of the head of prompts, on disk. */
export interface SavedPrompt {
  readonly id: string;
  /** The tokens that the state is of. */
  readonly tokens: readonly number[];
  readonly bytes: number;
}

export interface NewPrompt {
  /** What the state depends on apart from its tokens: the model, the engine and their settings. */
  readonly key: string;
  readonly tokens: readonly number[];
}

export interface PromptFiles {
  list(key: string): Promise<readonly SavedPrompt[]>;
  /** Takes over the file of a prompt's state, unless it is saved already; undefined: it cannot be kept. */
  save(prompt: NewPrompt, file: StateFile): Promise<SavedPrompt | undefined>;
  /** Checks a file before it is read, and keeps it until it is closed; undefined: gone, or changed and deleted. */
  open(id: string): Promise<string | undefined>;
  /** @param isUsable false: the file is deleted. */
  close(id: string, isUsable: boolean): Promise<void>;
}
