/** The text that opens and closes a part of a reply. */
export interface MarkPair {
  readonly open: string;
  readonly close: string;
}

/** Marks of the parts of a model's reply, read off its chat template; plain data. */
export interface ReplyMarks {
  /** Around reasoning, in the order in which they are looked for; the first is the template's own. */
  readonly reasoning: readonly MarkPair[];
  /** Around the answer; undefined: it has no marks. */
  readonly answer: MarkPair | undefined;
}
