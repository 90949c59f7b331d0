import { readJsonLines } from '../../scripts/evals/readJson.mjs';

/** A text of a model, and what is to be read in it. */
export interface CollectedReply {
  readonly id: string;
  readonly format: string;
  readonly class: string;
  readonly text: string;
  readonly expect: { readonly calls: readonly object[]; readonly residual: string };
}

const read = (name: string): Promise<readonly CollectedReply[]> =>
  readJsonLines(new URL(`../fixtures/cases/${name}.jsonl`, import.meta.url));

/** The first collection of model outputs, of all formats: each call is written in one way. */
export const firstReplies = await read('tool-calls');

/** Both collections of model outputs; the second one also mixes the ways of several formats. */
export const collectedReplies = [...firstReplies, ...(await read('tool-calls-more'))];
