import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { bundledPath } from '../../base/packageFiles.ts';
import type { CatalogueEntry } from '../../inference/models/catalogue/catalogue.ts';
import { isLicenseFile, type LicensedPart } from './bundlePart.ts';
import { describeFsError } from '../../base/filesystem.ts';
import type { NodeBinary } from './nodeBinary.ts';
import type { NpmPackage } from './productionPackages.ts';

/** The licence of an npm package: the texts that it has, or else that of its licence if it is MIT. */
export async function readPackageLicense(found: NpmPackage): Promise<LicensedPart> {
  const { name, version, license, folder } = found;
  const files = (await readdir(folder)).filter(isLicenseFile);
  const texts = await Promise.all(files.toSorted().map((file) => readFile(join(folder, file), 'utf8')));
  if (texts.length > 0) return { name, version, license, text: texts.map(normalize).join('\n') };
  if (license === 'MIT') return { name, version, license, text: mitText(found) };
  throw new Error(`${folder} has no licence text, and its package.json says "${license}": it cannot be in a bundle`);
}

/**
 * The licence text of a Node program: the given file, or that of its archive, or that of its major version that is in this
 * package.
 * @throws Error that names the flag, where there is none of these.
 */
export async function readNodeLicense({ path, version }: NodeBinary, given: string): Promise<LicensedPart> {
  const part = { name: 'Node.js', version, license: 'MIT' };
  if (given !== '') return { ...part, text: await readGiven(given) };
  for (const place of ['LICENSE', '../LICENSE', '../share/doc/nodejs/LICENSE', '../share/doc/node/LICENSE']) {
    const text = await readFile(join(dirname(path), place), 'utf8').catch(() => '');
    if (text.startsWith(nodeLicenseStart)) return { ...part, text: normalize(text) };
  }
  const [major = ''] = version.split('.');
  const known = await readFile(bundledPath(`licenses/node-${major}.txt`), 'utf8').catch(() => undefined);
  if (known === undefined)
    throw new Error(`the licence text of Node ${version} is not known: give --node-license the LICENSE of its archive`);
  return { ...part, text: normalize(known) };
}

/** The licence texts of llama.cpp and of what it contains. */
export async function readLlamaLicense(release: string): Promise<LicensedPart> {
  const text = await readFile(bundledPath('licenses/llama.cpp.txt'), 'utf8');
  return { name: 'llama.cpp', version: release, license: 'MIT', text: normalize(text) };
}

const nodeLicenseStart = 'Node.js is licensed for use as follows';

async function readGiven(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new Error(`--node-license ${path} cannot be read: ${describeFsError(error)}`, { cause: error });
  });
  if (!text.startsWith(nodeLicenseStart))
    throw new Error(`--node-license ${path} is not the LICENSE of Node: it must begin with "${nodeLicenseStart}"`);
  return normalize(text);
}

const normalize = (text: string): string => `${text.replaceAll('\r\n', '\n').trim()}\n`;

const mitText = ({
  name,
  author,
}: NpmPackage): string => `(The package has no licence text: this is that of the licence that it names.)

Copyright (c) ${author.replace(/[<(].*$/s, '').trimEnd() || `the authors of ${name}`}

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation
files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy,
modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the
Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE,
ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`;

/** The file with the licences at the top of a bundle. */
export const noticesFile = 'THIRD-PARTY-NOTICES';

/** Writes the notices: a list of all parts, then the licence text of each. */
export function writeNotices(parts: readonly LicensedPart[], models: readonly CatalogueEntry[]): string {
  const list = parts.map((part) => `  ${titleOf(part)}`);
  const modelList = models.map(describeModel);
  return [
    'This folder contains turngraph, and the following parts of others, each under its own licence.',
    '',
    ...list,
    '',
    ...(modelList.length === 0 ? [] : ['Models, whose weights have licences of their own:', '', ...modelList, '']),
    ...parts.map((part) => `${line}\n${titleOf(part)}\n${line}\n\n${part.text}`),
  ].join('\n');
}

const line = '='.repeat(80);

const titleOf = ({ name, version, license }: LicensedPart): string =>
  `${name}${version === '' ? '' : ` ${version}`}${license === '' ? '' : ` (${license})`}`;

function describeModel({ name, variants: [variant] }: CatalogueEntry): string {
  const license = variant?.license || 'licence not named in the catalogue';
  const repo = variant?.huggingface_repo;
  return `  ${name} (${license})${repo === undefined ? '' : `, https://huggingface.co/${repo}`}`;
}
