import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DownloadOptions } from '../../src/download/downloads.ts';
import type { TurngraphServer } from '../../src/server/server.ts';
import type { Subprotocol } from '../../src/wire/codec.ts';
import { FakeHub, noise, sha256 } from './fakeHub.ts';
import { fileOf, Player, serverWith, type Differences } from './server.ts';
import { aDay } from './heldEngine.ts';

/** What the file of the model "Tiny" is: no model, but good enough to be fetched. */
export const tinyFile = noise(300_000);

const entry = (name: string, variant: object): object => ({
  name,
  variants: [{ engine: 'llama-cpp', context_size: 512, files: ['model.gguf'], ...variant }],
});

// Demo is the bundled model, and Twin the same file by another name; turngraph-demo is a file of the user's.
const models = [
  entry('Tiny', { huggingface_repo: 'ann/tiny' }),
  entry('Demo', { huggingface_repo: 'ann/demo', files: ['demo.gguf'] }),
  entry('Twin', { huggingface_repo: 'ann/demo', files: ['demo.gguf'] }),
  entry('turngraph-demo', { local_path: fileOf('models'), files: ['turngraph-demo.gguf'] }),
  entry('Lost', { huggingface_repo: 'ann/lost' }),
  entry('Nowhere', {}),
  entry('Changed', { huggingface_repo: 'ann/tiny', sha256: sha256(noise(300_000, 2)) }),
];

/** A server, the hub that it fetches models from, and the folder that it puts them in. */
export interface HubServer extends AsyncDisposable {
  readonly hub: FakeHub;
  readonly server: TurngraphServer;
  /** All files of the models folder, sorted. */
  files(): Promise<readonly string[]>;
  /** A file of the models folder. */
  read(path: string): Promise<Buffer>;
  /** Bytes of a file of the models folder; 0 = it is not there. */
  sizeOf(path: string): Promise<number>;
  /** Another server for the same hub and folder. */
  another(): Promise<TurngraphServer>;
  player(subprotocol: Subprotocol, engine?: 'mock' | 'llama-cpp'): Promise<Player>;
}

/** Starts a server whose models come from a fake hub. */
export async function hubServer(
  differences: Differences & { readonly fetching?: DownloadOptions } = {},
): Promise<HubServer> {
  const { fetching, ...others } = differences;
  const hub = await FakeHub.open();
  hub.files.set('ann/tiny/model.gguf', { content: tinyFile });
  hub.files.set('ann/demo/demo.gguf', { content: await readFile(fileOf('models/turngraph-demo.gguf')) });
  const root = await mkdtemp(join(tmpdir(), 'turngraph-'));
  const folder = join(root, 'models');
  await writeFile(join(root, 'models.json'), JSON.stringify({ models }));
  const env = { HF_ENDPOINT: hub.url, HF_HUB_CACHE: join(root, 'cache') };
  const options = {
    catalogue: join(root, 'models.json'),
    models: folder,
    downloads: { env, maxAttempts: 1, stallMs: aDay, ...fetching },
    ...others,
  };
  const server = await serverWith(options);
  return {
    hub,
    server,
    files: async () =>
      (await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []))
        .filter((found) => found.isFile())
        .map(({ name }) => name)
        .sort(),
    read: (path) => readFile(join(folder, path)),
    sizeOf: async (path) => (await stat(join(folder, path)).catch(() => undefined))?.size ?? 0,
    another: () => serverWith(options),
    player: (subprotocol, engine) => Player.connect(server.url, subprotocol, engine),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await hub[Symbol.asyncDispose]();
      await rm(root, { recursive: true });
    },
  };
}
