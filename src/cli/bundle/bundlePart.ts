/** A file of a bundle: a copy of a file, or a text. */
export interface BundleFile {
  /** Its place in the bundle, with slashes. */
  readonly path: string;
  readonly content: { readonly copyOf: string } | { readonly text: string };
  readonly isExecutable?: boolean;
}

/** What a part of a bundle is. */
export type PartKind = 'node' | 'turngraph' | 'packages' | 'llama.cpp' | 'graphs' | 'model' | 'start' | 'notices';

/** A part of a bundle, as it is listed. */
export interface BundlePart {
  readonly kind: PartKind;
  /** For people: "Node 24.11.1", "model turngraph-demo". */
  readonly title: string;
  readonly bytes: number;
  readonly files: readonly BundleFile[];
}

/** A part of which its licence text is in the notices. */
export interface LicensedPart {
  readonly name: string;
  readonly version: string;
  /** The licence by its short name; "" = its text says it. */
  readonly license: string;
  readonly text: string;
}
