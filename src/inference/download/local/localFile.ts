import type { StoreProgram } from './stores.ts';

/** A GGUF file that another program keeps on the machine. */
export interface LocalFile {
  readonly program: StoreProgram;
  /** The name that the program gives it: a path, or a name with a tag. */
  readonly name: string;
  /** Absolute path, without symbolic links. */
  readonly path: string;
  readonly bytes: number;
  /** The SHA-256 that the program names it after; undefined = not known. It is not verified. */
  readonly sha256: string | undefined;
  /** Repository and path within it, where the program's folders say so. */
  readonly source: { readonly repo: string; readonly file: string } | undefined;
}
