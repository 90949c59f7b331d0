/** Who may name the tool-call format of a node; "" = does not. */
export interface FormatSources {
  readonly node: string;
  readonly catalogue: string;
  /** What the model's chat template and vocabulary show. */
  readonly detected: string;
}

/** A format by its name, and why it is that one. */
export interface FormatChoice {
  readonly name: string;
  readonly reason: string;
}

/** Where nothing else is known: the format that most families were trained on. */
export const defaultFormat = 'chatml';

/** The format of the first who names one. */
export function chooseFormat({ node, catalogue, detected }: FormatSources): FormatChoice {
  if (node !== '') return { name: node, reason: 'the node names it' };
  if (catalogue !== '') return { name: catalogue, reason: 'models.json names it' };
  if (detected !== '') return { name: detected, reason: 'read off the model' };
  return { name: defaultFormat, reason: 'nothing names or shows another' };
}
