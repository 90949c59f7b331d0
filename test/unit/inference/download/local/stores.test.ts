import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  findModelStores,
  type Machine,
  type StoreProgram,
} from '../../../../../src/inference/download/local/stores.ts';

const home = join('/', 'home', 'ann');
const foldersOf = async (machine: Machine): Promise<Readonly<Record<StoreProgram, readonly string[]>>> => {
  const stores = await findModelStores(machine);
  const of = (program: StoreProgram): readonly string[] =>
    stores.filter((store) => store.program === program).map(({ folder }) => folder);
  return {
    'Hugging Face': of('Hugging Face'),
    'llama.cpp': of('llama.cpp'),
    'LM Studio': of('LM Studio'),
    Ollama: of('Ollama'),
  };
};

const studio = [join(home, '.lmstudio', 'models'), join(home, '.cache', 'lm-studio', 'models')];
const hub = [join(home, '.cache', 'huggingface', 'hub')];

describe('the folders of other programs', () => {
  it.each<[NodeJS.Platform, Readonly<Record<string, string>>, string, readonly string[]]>([
    ['linux', {}, join(home, '.cache', 'llama.cpp'), ['/usr/share/ollama/.ollama/models', '/var/lib/ollama/models']],
    ['darwin', {}, join(home, 'Library', 'Caches', 'llama.cpp'), []],
    ['win32', {}, join(home, 'AppData', 'Local', 'llama.cpp'), []],
    ['win32', { LOCALAPPDATA: join('/', 'local') }, join('/', 'local', 'llama.cpp'), []],
  ])('have the defaults of %s %j', async (platform, env, llama, ollama) => {
    expect(await foldersOf({ env, home, platform })).toEqual({
      'Hugging Face': hub,
      'llama.cpp': [llama],
      'LM Studio': studio,
      Ollama: [join(home, '.ollama', 'models'), ...ollama],
    });
  });

  it('are those of the environment variables where these are set', async () => {
    const env = { LLAMA_CACHE: '/l', OLLAMA_MODELS: '/o', HF_HOME: '/h' };
    expect(await foldersOf({ env, home, platform: 'linux' })).toMatchObject({
      'Hugging Face': [join('/h', 'hub')],
      'llama.cpp': ['/l'],
      Ollama: ['/o'],
    });
    expect(await foldersOf({ env: { XDG_CACHE_HOME: '/x' }, home, platform: 'linux' })).toMatchObject({
      'Hugging Face': [join('/x', 'huggingface', 'hub')],
      'llama.cpp': [join('/x', 'llama.cpp')],
    });
  });

  it('are where LM Studio says that it was moved to', async () => {
    const moved = await mkdtemp(join(tmpdir(), 'turngraph-'));
    await writeFile(join(moved, '.lmstudio-home-pointer'), `${join('/', 'disk2', 'lmstudio')}\n`);
    const folders = await foldersOf({ env: {}, home: moved, platform: 'linux' });
    expect(folders['LM Studio'][0]).toBe(join('/', 'disk2', 'lmstudio', 'models'));
    await rm(moved, { recursive: true });
  });
});
