/** Where the tool-call format of a node can come from; "" = not named there. */
export interface FormatSources {
  readonly node: string;
  readonly catalogue: string;
  /** The format that the model's chat template proves. */
  readonly detected: string;
  /** Why it is that format, or why none: a sentence without a full stop. */
  readonly because: string;
}

/** The name of a format and why it was chosen, for debug_info. */
export interface FormatChoice {
  readonly name: string;
  readonly reason: string;
}

/** The fallback: the format that most model families were trained on. */
export const defaultFormat = 'chatml';

/** Chooses the tool-call format: the node's, else the catalogue's, else the detected one, else the default. */
export function chooseFormat({ node, catalogue, detected, because }: FormatSources): FormatChoice {
  if (node !== '') return { name: node, reason: 'the node names it' };
  if (catalogue !== '') return { name: catalogue, reason: 'models.json names it' };
  if (detected !== '') return { name: detected, reason: because };
  return { name: defaultFormat, reason: `nothing names another, and ${because}` };
}
