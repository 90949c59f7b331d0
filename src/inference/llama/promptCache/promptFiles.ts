import type { StateFile } from '../kvCache/stateFiles.ts';

/** The state of the head of prompts, on disk. */
export interface SavedPrompt {
  readonly id: string;
  /** The tokens that the state is of. */
  readonly tokens: readonly number[];
  readonly bytes: number;
}

/** A prompt whose state was written. */
export interface NewPrompt {
  /** What the state depends on apart from its tokens: the model, the engine and their settings. */
  readonly key: string;
  readonly tokens: readonly number[];
}

/** The files of the prompt cache. */
export interface PromptFiles {
  /** The saved prompts of a key. */
  list(key: string): Promise<readonly SavedPrompt[]>;
  /**
   * Takes over the file that the state of a prompt was written to, unless the prompt is saved already.
   * @returns the saved prompt; undefined when it cannot be kept.
   */
  save(prompt: NewPrompt, file: StateFile): Promise<SavedPrompt | undefined>;
  /**
   * Checks a file before it is read; it is not evicted until it is closed.
   * @returns its path; undefined when it is gone, or when it was changed: then it is deleted.
   */
  open(id: string): Promise<string | undefined>;
  /** @param isUsable false: the file is deleted. */
  close(id: string, isUsable: boolean): Promise<void>;
}
