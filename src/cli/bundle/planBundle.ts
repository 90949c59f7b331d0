import { existsSync, createReadStream } from 'node:fs';
import { readFile, stat, readdir, open } from 'node:fs/promises';
import { join, dirname } from 'node:path';
import { bundledPath } from '../../base/packageFiles.ts';
import { plural } from '../output/terminalText.ts';
import { graphFiles, writeCatalogue, type BundledGraph, type BundledModel } from './bundledModels.ts';
import type { BundleFile, BundlePart, LicensedPart, PartKind } from './bundlePart.ts';
import { listPackageFiles, isLicenseFile } from './bundlePart.ts';
import { findLibraries, findProductionPackages, type PlacedPackage, type NpmPackage } from './productionPackages.ts';
import { nodeFileOf, runtimeFolder, startFiles, platformOf, type BundleGpu, type BundlePlatform } from './platforms.ts';
import { gunzipSync } from 'node:zlib';
import { describeFsError } from '../../base/filesystem.ts';

/** What goes into a bundle. */
export interface BundleContent {
  readonly platform: BundlePlatform;
  readonly gpu: BundleGpu;
  readonly node: string;
  /** Its LICENSE; "" = found. */
  readonly nodeLicense: string;
  /** A folder in which npm installed the llama.cpp library; "" = where the other packages are. */
  readonly libraries: string;
  readonly graphs: readonly BundledGraph[];
  readonly models: readonly BundledModel[];
}

/** Finds all parts of a bundle, which is not yet written. @throws Error that names the flag or the command that helps, where something is missing. */
export async function planBundle(content: BundleContent): Promise<readonly BundlePart[]> {
  const { platform, gpu, graphs, models } = content;
  if (!existsSync(bundledPath('licenses')))
    throw new Error('this turngraph has no licence texts, as in a bundle: run the command of an installed turngraph');
  const node = await readNodeBinary(content.node);
  if (platform !== node.platform)
    throw new Error(`${node.path} is Node for ${node.platform}: give --node one for ${platform}`);
  const packages = await findProductionPackages(bundledPath('.'));
  const [own, others] = [packages.filter(isOwn), packages.filter((found) => !isOwn(found))];
  const libraries = await findLibraries(packages, platform, gpu, content.libraries);
  const release = libraries[0]?.release ?? '';
  const licensed = [
    await readNodeLicense(node, content.nodeLicense),
    await readLlamaLicense(release),
    ...(await readLicenses([...others, ...libraries])),
    ...(await readPlaygroundLicenses()),
  ];
  const notices = writeNotices(licensed, models);
  const catalogue: BundleFile = { path: 'models.json', content: { text: writeCatalogue(models) } };
  const nodePath = `${runtimeFolder}/${nodeFileOf(platform)}`;
  const lists: PartList[] = [
    ['node', `Node ${node.version}`, [{ path: nodePath, content: { copyOf: node.path }, isExecutable: true }]],
    ...(await Promise.all(
      libraries.map(async ({ name, path, folder, version }): Promise<PartList> => [
        'llama.cpp',
        `llama.cpp ${release}, ${name} ${version}`,
        await filesOf([{ name, path, folder }]),
      ]),
    )),
    ['turngraph', `turngraph ${own[0]?.version}`, await filesOf(own)],
    ['packages', plural(others.length, 'npm package'), await filesOf(others)],
    ['graphs', `${plural(graphs.length, 'graph')} and storages`, await graphFiles(graphs)],
    ...models.map(({ entry, files }): PartList => [
      'model',
      `${files.length === 0 ? 'entry of ' : ''}model ${entry.name}`,
      files,
    ]),
    ['start', 'start file and model catalogue', [...startFiles(platform), catalogue]],
    ['notices', 'licences', [{ path: noticesFile, content: { text: notices } }]],
  ];
  // Together, when nothing else is waited for: a file that has gone is an error of this call.
  return Promise.all(lists.map(part));
}

const isOwn = ({ path }: PlacedPackage): boolean => path === 'turngraph';

async function filesOf(
  packages: readonly Pick<PlacedPackage, 'name' | 'path' | 'folder'>[],
): Promise<readonly BundleFile[]> {
  const lists = packages.map(async ({ name, path, folder }) =>
    (await listPackageFiles(folder, name)).map((file) => ({
      path: `${runtimeFolder}/node_modules/${path}/${file}`,
      content: { copyOf: join(folder, ...file.split('/')) },
    })),
  );
  return (await Promise.all(lists)).flat();
}

type PartList = readonly [kind: PartKind, title: string, files: readonly BundleFile[]];

async function part([kind, title, files]: PartList): Promise<BundlePart> {
  const sizes = files.map(async ({ content }) =>
    'text' in content ? Buffer.byteLength(content.text) : (await stat(content.copyOf)).size,
  );
  const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  return { kind, title, bytes, files };
}

/** The licences of packages, each version once, by name. */
async function readLicenses(packages: readonly PlacedPackage[]): Promise<readonly LicensedPart[]> {
  const byName = new Map(packages.map((found) => [`${found.name}@${found.version}`, found]));
  const sorted = [...byName].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, found]) => found);
  return Promise.all(sorted.map(readPackageLicense));
}

/** The licences of the packages in the page of the playground; its build writes them. */
async function readPlaygroundLicenses(): Promise<readonly LicensedPart[]> {
  const file = bundledPath('dist/playground/playground/licenses.txt');
  const text = await readFile(file, 'utf8').catch(() => undefined);
  return text === undefined ? [] : [{ name: 'packages in the page of the playground', version: '', license: '', text }];
}

/** The licence of an npm package: the texts that it has, or else that of its licence if it is MIT. */
export async function readPackageLicense(found: NpmPackage): Promise<LicensedPart> {
  const { name, version, license, folder } = found;
  const files = (await readdir(folder)).filter(isLicenseFile);
  const texts = await Promise.all(files.toSorted().map((file) => readFile(join(folder, file), 'utf8')));
  if (texts.length > 0) return { name, version, license, text: texts.map(normalize).join('\n') };
  if (license === 'MIT') return { name, version, license, text: await mitText(found) };
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
  const known = await readFile(bundledPath(`licenses/node-${major}.txt.gz`)).catch(() => undefined);
  if (known === undefined)
    throw new Error(`the licence text of Node ${version} is not known: give --node-license the LICENSE of its archive`);
  return { ...part, text: normalize(gunzipSync(known).toString()) };
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

async function mitText({ name, author }: NpmPackage): Promise<string> {
  const holder = author.replace(/[<(].*$/s, '').trimEnd() || `the authors of ${name}`;
  const note = '(The package has no licence text: this is that of the licence that it names.)';
  const text = await readFile(bundledPath('licenses/mit.txt'), 'utf8');
  return `${note}\n\nCopyright (c) ${holder}\n\n${normalize(text)}`;
}

const noticesFile = 'THIRD-PARTY-NOTICES';

/** Writes the notices: a list of all parts, then the licence text of each. */
function writeNotices(parts: readonly LicensedPart[], models: readonly BundledModel[]): string {
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

function describeModel({ entry: { name, variants } }: BundledModel): string {
  const [variant] = variants;
  const license = variant?.license || 'licence not named in the catalogue';
  const repo = variant?.huggingface_repo;
  return `  ${name} (${license})${repo === undefined ? '' : `, https://huggingface.co/${repo}`}`;
}

/** A Node program that runs without other files. */
type NodeBinary = Awaited<ReturnType<typeof readNodeBinary>>;

const minMajor = 20;

/**
 * Reads for which system a Node program is, and its version without "v" (24.11.1), without starting it.
 * @throws Error that names the file, when it is no such program.
 */
export async function readNodeBinary(path: string) {
  const header = await readHeader(path).catch((error: unknown) => {
    throw new Error(`${path} cannot be read: ${describeFsError(error)}`, { cause: error });
  });
  const system = systemOf(header);
  const platform = system && platformOf(system);
  if (platform === undefined) throw new Error(`${path} is no program for a system that a bundle can be made for`);
  const version = await findVersion(path);
  if (version === undefined)
    throw new Error(
      `${path} is no Node that runs alone: it is another program, or needs a library (libnode); ` +
        'give --node the one of an archive of nodejs.org',
    );
  if (Number(version.split('.')[0]) < minMajor)
    throw new Error(`${path} is Node ${version}; turngraph needs ${minMajor} or later`);
  return { path, platform, version };
}

const headerBytes = 4096;

async function readHeader(path: string): Promise<DataView> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(headerBytes), 0, headerBytes, 0);
    return new DataView(buffer.buffer, buffer.byteOffset, bytesRead);
  } finally {
    await file.close();
  }
}

/** What the header of a program says: ELF (Linux), PE (Windows) or Mach-O of one processor (macOS). */
function systemOf(header: DataView): { readonly platform: string; readonly arch: string } | undefined {
  if (header.byteLength < 64) return undefined;
  if (header.getUint32(0) === 0x7f454c46)
    return withArch('linux', { 0x3e: 'x64', 0xb7: 'arm64' }, header.getUint16(18, true));
  if (header.getUint32(0, true) === 0xfeedfacf)
    return withArch('darwin', { 0x01000007: 'x64', 0x0100000c: 'arm64' }, header.getUint32(4, true));
  if (header.getUint16(0) !== 0x4d5a) return undefined;
  const start = header.getUint32(60, true);
  if (start + 6 > header.byteLength || header.getUint32(start) !== 0x50450000) return undefined;
  return withArch('win32', { 0x8664: 'x64', 0xaa64: 'arm64' }, header.getUint16(start + 4, true));
}

function withArch(platform: string, archs: Readonly<Record<number, string>>, machine: number) {
  const arch = archs[machine];
  return arch === undefined ? undefined : { platform, arch };
}

/** Every Node has the address of its headers; one that only loads a library has not. */
const versionPattern = /\/download\/release\/v(\d+\.\d+\.\d+)\//;
const overlap = 100;

async function findVersion(path: string): Promise<string | undefined> {
  let rest = '';
  for await (const chunk of createReadStream(path, { highWaterMark: 2 ** 20 })) {
    const text = rest + (chunk as Buffer).toString('latin1');
    const [, version] = versionPattern.exec(text) ?? [];
    if (version !== undefined) return version;
    rest = text.slice(-overlap);
  }
  return undefined;
}
