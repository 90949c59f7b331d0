import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

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

/** Files of some packages that alone are needed, or that are not: what the general rules do not know. */
const needed: Readonly<Record<string, RegExp>> = {
  turngraph: /^(?:package\.json|LICENSE|dist\/.+|proto\/turngraph\/v1\/wire\.proto)$/,
};
const unneeded: Readonly<Record<string, RegExp>> = {
  // What it compiles llama.cpp with: sources, tools, and a git bundle of 35 MB.
  'node-llama-cpp': /^(?:bins|templates|llama\/(?!grammars\/|[^/]+\.json$))\/?/,
};

/** What no program reads: types, sources in TypeScript, source maps, pages. */
const unneededNames = /\.(?:map|[cm]?tsx?|flow|tsbuildinfo|md|markdown)$/i;
/** Folders at the top of a package that its program does not load. */
const unneededFolders = /^(?:\..*|tests?|__tests__|examples?|docs?|bench(?:marks?)?|coverage|man)$/i;

/** Whether a file has a text that a licence may ask to be shipped: LICENSE, COPYING or NOTICE, with any ending but those of code. */
export const isLicenseFile = (name: string): boolean =>
  licenseNames.test(name) && !/\.(?:map|[cm]?[jt]sx?)$/.test(name);

const licenseNames = /^(?:licen[cs]es?|copying|notices?|copyright|unlicense)(?:[._-].*)?$/i;

/** The files of an npm package that a bundle needs, as sorted paths with slashes. */
export async function listPackageFiles(folder: string, name: string): Promise<readonly string[]> {
  const files: string[] = [];
  const read = async (path: string): Promise<void> => {
    for (const entry of await readdir(join(folder, path), { withFileTypes: true })) {
      const below = path === '' ? entry.name : `${path}/${entry.name}`;
      const isTop = path === '';
      if (entry.isDirectory()) {
        if (entry.name !== 'node_modules' && !(isTop && unneededFolders.test(entry.name))) await read(below);
      } else if (entry.isFile() && isNeeded(below, entry.name, isTop, name)) files.push(below);
    }
  };
  await read('');
  return files.toSorted();
}

function isNeeded(path: string, file: string, isTop: boolean, name: string): boolean {
  if (needed[name]?.test(path) === false || unneeded[name]?.test(path) === true) return false;
  return isLicenseFile(file) || (!unneededNames.test(file) && !(isTop && file.startsWith('.')));
}
