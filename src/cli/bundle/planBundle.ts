import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { bundledPath } from '../../base/packageFiles.ts';
import { plural } from '../output/terminalText.ts';
import { graphFiles, type BundledGraph } from './bundledGraphs.ts';
import { writeCatalogue, type BundledModel } from './bundledModels.ts';
import { type BundleFile, type BundlePart, type LicensedPart, type PartKind, listPackageFiles } from './bundlePart.ts';
import { findLibraries, findProductionPackages, type PlacedPackage } from './productionPackages.ts';
import { readLlamaLicense, readNodeLicense, readPackageLicense, noticesFile, writeNotices } from './licenses.ts';
import { readNodeBinary } from './nodeBinary.ts';
import type { BundleGpu, BundlePlatform } from './platforms.ts';
import { nodeFileOf, runtimeFolder, startFiles } from './startFiles.ts';

/** What goes into a bundle. */
export interface BundleContent {
  /** undefined: that of the Node program. */
  readonly platform: BundlePlatform | undefined;
  readonly gpu: BundleGpu;
  /** The Node program. */
  readonly node: string;
  /** Its LICENSE; "" = found. */
  readonly nodeLicense: string;
  /** A folder in which npm installed the llama.cpp library; "" = where the other packages are. */
  readonly libraries: string;
  readonly graphs: readonly BundledGraph[];
  readonly models: readonly BundledModel[];
}

/** A bundle that is not yet written. */
export interface PlannedBundle {
  readonly platform: BundlePlatform;
  readonly parts: readonly BundlePart[];
}

/** Finds all that a bundle has. @throws Error that names the flag or the command that helps, where something is missing. */
export async function planBundle(content: BundleContent): Promise<PlannedBundle> {
  const { gpu, graphs, models } = content;
  if (!existsSync(bundledPath('licenses')))
    throw new Error('this turngraph has no licence texts, as in a bundle: run the command of an installed turngraph');
  const node = await readNodeBinary(content.node);
  const { platform = node.platform } = content;
  if (platform !== node.platform)
    throw new Error(`${node.path} is Node for ${node.platform}: give --node one for ${platform}`);
  const packages = await findProductionPackages(bundledPath('.'));
  const [own, others] = [packages.filter(isOwn), packages.filter((found) => !isOwn(found))];
  const libraries = await findLibraries(packages, { platform, gpu, folder: content.libraries });
  const release = libraries[0]?.release ?? '';
  const licensed = [
    await readNodeLicense(node, content.nodeLicense),
    await readLlamaLicense(release),
    ...(await readLicenses([...others, ...libraries])),
    ...(await readPlaygroundLicenses()),
  ];
  const entries = models.map(({ entry }) => entry);
  const notices = writeNotices(licensed, entries);
  const catalogue: BundleFile = { path: 'models.json', content: { text: writeCatalogue(models) } };
  const lists: PartList[] = [
    [
      'node',
      `Node ${node.version}`,
      [{ path: `${runtimeFolder}/${nodeFileOf(platform)}`, content: { copyOf: node.path }, isExecutable: true }],
    ],
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
  return { platform, parts: await Promise.all(lists.map(part)) };
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
