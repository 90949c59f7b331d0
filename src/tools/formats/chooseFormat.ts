/** Where the tool-call format of a node can come from; "" = not named there. */
export interface FormatSources {
  readonly node: string;
  readonly catalogue: string;
  /** Detected from the model's chat template and vocabulary. */
  readonly detected: string;
}

/** The name of a format and why it was chosen, for debug_info. */
export interface FormatChoice {
  readonly name: string;
  readonly reason: string;
}

/** The fallback: the format that most model families were trained on. */
export const defaultFormat = 'chatml';

/** Chooses the tool-call format: the node's, else the catalogue's, else the detected one, else the default. */
export function chooseFormat({ node, catalogue, detected }: FormatSources): FormatChoice {
  if (node !== '') return { name: node, reason: 'the node names it' };
  if (catalogue !== '') return { name: catalogue, reason: 'models.json names it' };
  if (detected !== '') return { name: detected, reason: 'read off the model' };
  return { name: defaultFormat, reason: 'nothing names or shows another' };
}
