/** A LoRA adapter: changes of the weights of a model, in a GGUF file of their own. */
export interface LoraFile {
  /** Path of the GGUF file. */
  readonly file: string;
  /** What the changes are multiplied by; 0 = none. */
  readonly scale: number;
}
