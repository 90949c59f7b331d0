import type { Interaction } from '../../chat/dialog.ts';

/** The running summary of a dialog: a text that stands for its oldest interactions in the prompts of one node. */
export interface Summary {
  readonly text: string;
  /** How many interactions it stands for, those included that the dialog does not have any more. */
  readonly interactions: number;
  /** The last of them; undefined: the dialog has none of them. */
  readonly last: Interaction | undefined;
}

/** The system message of a prompt with a summary. */
export const withSummary = (system: string, summary: string): string =>
  `${system === '' ? '' : `${system}\n\n`}Summary of the conversation before the messages below:\n${summary}`;
