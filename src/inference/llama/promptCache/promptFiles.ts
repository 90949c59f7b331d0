/** The state of the head of prompts, on disk. */
export interface SavedPrompt {
  readonly id: string;
  /** The tokens that the state is of. */
  readonly tokens: readonly number[];
  readonly bytes: number;
}

/** A saved prompt that is about to be written. */
export interface NewPrompt {
  /** What the state depends on apart from its tokens: the model, the engine and their settings. */
  readonly key: string;
  readonly tokens: readonly number[];
  /** Estimated. */
  readonly bytes: number;
}

/** The files of the prompt cache. All parameters and results are plain data. */
export interface PromptFiles {
  /** The saved prompts of a key. */
  list(key: string): Promise<readonly SavedPrompt[]>;
  /** Reserves disk space for a prompt; undefined when there is none, or when the prompt is saved already. */
  create(prompt: NewPrompt): Promise<{ readonly draft: string; readonly path: string } | undefined>;
  /**
   * The file of a draft is written, or could not be.
   * @param error why it could not be written; undefined = it is.
   * @returns the saved prompt; undefined when there is none.
   */
  finish(draft: string, error: string | undefined): Promise<SavedPrompt | undefined>;
  /**
   * Checks a file before it is read; it is not evicted until it is closed.
   * @returns its path; undefined when it is gone, or when it was changed: then it is deleted.
   */
  open(id: string): Promise<string | undefined>;
  /** @param isUsable false: the file is deleted. */
  close(id: string, isUsable: boolean): Promise<void>;
}
