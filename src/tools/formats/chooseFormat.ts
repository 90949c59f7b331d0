/** Who may name the tool-call format of a node; "" = does not. */
export interface FormatClaims {
  readonly node: string;
  readonly catalogue: string;
  /** What the model's chat template and vocabulary show. */
  readonly detected: string;
}

/** A format by its name, and why it is that one. */
export interface FormatChoice {
  readonly name: string;
  readonly because: string;
}

/** Where nothing else is known: the format that most families were trained on. */
export const usualFormat = 'chatml';

/** The format of the first who names one. */
export function choose({ node, catalogue, detected }: FormatClaims): FormatChoice {
  if (node !== '') return { name: node, because: 'the node names it' };
  if (catalogue !== '') return { name: catalogue, because: 'models.json names it' };
  if (detected !== '') return { name: detected, because: 'read off the model' };
  return { name: usualFormat, because: 'nothing names or shows another' };
}
