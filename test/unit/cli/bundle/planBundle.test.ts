import { rmSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { planBundle, type BundleContent } from '../../../../src/cli/bundle/planBundle.ts';
import {
  bundleGpus,
  bundlePlatforms,
  libraryPackagesOf,
  type BundlePlatform,
} from '../../../../src/cli/bundle/platforms.ts';
import { bundleToJson, describeBundle } from '../../../../src/cli/commands/bundle.ts';
import { readCatalogue } from '../../../../src/inference/models/catalogue/catalogue.ts';
import { formatBytes } from '../../../../src/base/units.ts';
import { writeNodeBinary } from '../../../helpers/nodeBinaries.ts';
import { repositoryPath } from '../../../helpers/server.ts';

interface Report {
  readonly bytes: number;
  readonly parts: readonly { readonly part: string; readonly title: string; readonly bytes: number }[];
}

let folder = '';
let libraryVersion = '';
let libraryPackages: readonly string[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  const manifest = JSON.parse(await readFile(repositoryPath('node_modules/node-llama-cpp/package.json'), 'utf8')) as {
    version: string;
    optionalDependencies: object;
  };
  libraryVersion = manifest.version;
  libraryPackages = Object.keys(manifest.optionalDependencies);
});
afterAll(() => rm(folder, { recursive: true }));

async function contentFor(node: BundlePlatform, changes: Partial<BundleContent> = {}): Promise<BundleContent> {
  const path = await writeNodeBinary(join(folder, `node-${node}`), node);
  return {
    platform: node,
    gpu: 'off',
    node: path,
    nodeLicense: '',
    libraries: '',
    graphs: [],
    models: [],
    ...changes,
  };
}

/** Installs an empty library, as npm would. */
async function installLibrary(name: string, version = libraryVersion): Promise<void> {
  const place = join(folder, 'libraries', 'node_modules', name);
  await mkdir(join(place, 'bins', 'system'), { recursive: true });
  const write = (file: string, text: string): Promise<void> => writeFile(join(place, file), text);
  await write('package.json', JSON.stringify({ name, version, license: 'MIT' }));
  await write('bins/system/llama-addon.node', 'addon');
  await write('bins/system/_nlcBuildMetadata.json', '{"buildOptions":{"llamaCpp":{"release":"v9"}}}');
}

describe('the packages with llama.cpp', () => {
  it('are those that node-llama-cpp has', () => {
    const names = bundlePlatforms.flatMap((platform) =>
      bundleGpus.flatMap((gpu) => {
        try {
          return libraryPackagesOf(platform, gpu);
        } catch {
          return [];
        }
      }),
    );
    expect(names.length).toBeGreaterThan(bundlePlatforms.length);
    expect(names.filter((name) => !libraryPackages.includes(name))).toEqual([]);
  });

  it('are refused where the system has none for the backend', () => {
    expect(() => libraryPackagesOf('linux-x64', 'metal')).toThrow(
      '--gpu metal: there is no llama.cpp library for metal on linux-x64; there is off, vulkan, cuda',
    );
  });
});

describe('a bundle for another system', () => {
  it('has its Node, its library and its start file, and nothing of this one', async () => {
    await installLibrary('@node-llama-cpp/win-x64');
    const content = await contentFor('win-x64', { libraries: join(folder, 'libraries') });
    const parts = await planBundle(content);
    const paths = parts.flatMap(({ files }) => files.map(({ path }) => path));
    const binaries = paths.filter((path) =>
      /\.(?:node|so|dll|dylib|exe|cmd)(?:\.|$)|(?:^|\/)(?:node|turngraph)$/.test(path),
    );
    expect(binaries.toSorted()).toEqual([
      'runtime/node.exe',
      'runtime/node_modules/@node-llama-cpp/win-x64/bins/system/llama-addon.node',
      'turngraph.cmd',
    ]);
    expect(parts.map(({ title }) => title)).toContain(`llama.cpp v9, @node-llama-cpp/win-x64 ${libraryVersion}`);
    const start = parts.flatMap(({ files }) => files).find(({ path }) => path === 'turngraph.cmd');
    expect(start?.content).toMatchObject({
      text: expect.stringMatching(/^@"%~dp0runtime\\node\.exe" .* %\*\r\n/) as unknown,
    });
  });

  it('is for the system of its Node', async () => {
    await expect(planBundle(await contentFor('linux-arm64', { platform: 'win-arm64' }))).rejects.toThrow(
      'node-linux-arm64 is Node for linux-arm64: give --node one for win-arm64',
    );
  });

  it.each([
    ['', 'the npm package @node-llama-cpp/mac-x64 is not installed: run npm install '],
    ['libraries', /the npm package @node-llama-cpp\/mac-x64 is not installed in .*libraries: run npm install /],
  ])('needs a library that is installed (%j)', async (place, message) => {
    await mkdir(join(folder, 'libraries'), { recursive: true });
    const libraries = place === '' ? '' : join(folder, place);
    const planned = planBundle(await contentFor('mac-x64', { libraries }));
    await expect(planned).rejects.toThrow(message);
    await expect(planned).rejects.toThrow(
      `npm install --prefix libraries --no-save --ignore-scripts --force @node-llama-cpp/mac-x64@${libraryVersion} and give --libraries libraries`,
    );
  });

  it('needs the library in the version of node-llama-cpp', async () => {
    await installLibrary('@node-llama-cpp/win-arm64', '1.0.0');
    const content = await contentFor('win-arm64', { libraries: join(folder, 'libraries') });
    await expect(planBundle(content)).rejects.toThrow(
      `win-arm64 has version 1.0.0; node-llama-cpp needs ${libraryVersion}: run npm install `,
    );
  });
});

describe('the plan of a bundle', () => {
  it('lists all parts with their sizes, as text and as JSON', async () => {
    const entry = (await readCatalogue(repositoryPath('models.json'))).models.get('turngraph-demo');
    if (!entry) throw new Error('the catalogue has no demo model');
    const bundle = await planBundle(await contentFor('linux-x64', { models: [{ entry, files: [] }] }));
    const { bytes, parts, ...head } = JSON.parse(bundleToJson('game', 'linux-x64', bundle)) as Report;
    expect(head).toEqual({ folder: 'game', platform: 'linux-x64', start: 'turngraph' });
    expect(parts.map(({ part }) => part)).toEqual([
      'node',
      'llama.cpp',
      'turngraph',
      'packages',
      'graphs',
      'model',
      'start',
      'notices',
    ]);
    expect(parts.reduce((sum, part) => sum + part.bytes, 0)).toBe(bytes);
    const text = describeBundle('game', 'linux-x64', bundle);
    expect(text.split('\n')[0]).toBe(`game for linux-x64: ${formatBytes(bytes)}; start it with game/turngraph`);
    for (const { title, bytes: size } of parts) expect(text).toContain(`${formatBytes(size)}  ${title}\n`);
    expect(text).toContain('0.0 MB  entry of model turngraph-demo\n');
  });

  it('is the same each time', async () => {
    const content = await contentFor('linux-x64');
    expect(await planBundle(content)).toEqual(await planBundle(content));
  });
});

describe('a bundle whose file goes while others are looked for', () => {
  it('is refused, and no rejection is left unhandled', async () => {
    const content = await contentFor('linux-x64');
    // What is read after Node's version.
    const libraries = {
      get libraries() {
        rmSync(content.node, { force: true });
        return '';
      },
    };
    await expect(
      planBundle(Object.defineProperties({ ...content }, Object.getOwnPropertyDescriptors(libraries))),
    ).rejects.toThrow('ENOENT');
  });
});
