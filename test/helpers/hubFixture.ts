import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DownloadOptions } from '../../src/inference/download/downloads.ts';
import type { TurngraphServer } from '../../src/server/socket/server.ts';
import type { Subprotocol } from '../../src/protocol/codec/codec.ts';
import { FakeHub, seededBytes, sha256 } from './fakeHub.ts';
import { repositoryPath, TestClient, startTestServer, type TestServerOptions } from './server.ts';
import { oneDayMs } from './heldEngine.ts';

/** The file of the model "Tiny": it can be downloaded but not loaded. */
export const tinyFile = seededBytes(300_000);

const entry = (name: string, variant: object): object => ({
  name,
  variants: [{ engine: 'llama-cpp', context_size: 512, files: ['model.gguf'], ...variant }],
});

// Demo is the bundled model, Twin another name of the same file, and turngraph-demo a local file of the user.
const models = [
  entry('Tiny', { huggingface_repo: 'ann/tiny' }),
  entry('Demo', { huggingface_repo: 'ann/demo', files: ['demo.gguf'] }),
  entry('Twin', { huggingface_repo: 'ann/demo', files: ['demo.gguf'] }),
  entry('turngraph-demo', { local_path: repositoryPath('models'), files: ['turngraph-demo.gguf'] }),
  entry('Lost', { huggingface_repo: 'ann/lost' }),
  entry('Nowhere', {}),
  entry('Changed', { huggingface_repo: 'ann/tiny', sha256: sha256(seededBytes(300_000, 2)) }),
];

// Read once for all servers of a worker.
let demo: Promise<Buffer> | undefined;
const readDemo = (): Promise<Buffer> => (demo ??= readFile(repositoryPath('models/turngraph-demo.gguf')));

/** A server with a models folder, and the fake hub that it downloads from. */
export interface HubFixture extends AsyncDisposable {
  readonly hub: FakeHub;
  readonly server: TurngraphServer;
  /** Names of all files in the models folder, sorted. */
  listFiles(): Promise<readonly string[]>;
  /** Reads a file in the models folder. */
  readModelFile(path: string): Promise<Buffer>;
  /** Size of a file in the models folder in bytes; 0 = it does not exist. */
  fileSize(path: string): Promise<number>;
  /** Starts another server with the same hub and folder. */
  startAnother(): Promise<TurngraphServer>;
  connect(subprotocol: Subprotocol, engine?: 'mock' | 'llama-cpp'): Promise<TestClient>;
}

/** Starts a server that downloads models from a fake hub. */
export async function startHubServer(
  options: TestServerOptions & { readonly downloadOptions?: DownloadOptions } = {},
): Promise<HubFixture> {
  const { downloadOptions, ...otherOptions } = options;
  const hub = await FakeHub.open();
  hub.files.set('ann/tiny/model.gguf', { content: tinyFile });
  hub.files.set('ann/demo/demo.gguf', { content: await readDemo() });
  const root = await mkdtemp(join(tmpdir(), 'turngraph-'));
  const folder = join(root, 'models');
  await writeFile(join(root, 'models.json'), JSON.stringify({ models }));
  const env = { HF_ENDPOINT: hub.url, HF_HUB_CACHE: join(root, 'cache') };
  const serverOptions = {
    catalogue: join(root, 'models.json'),
    models: folder,
    downloads: { env, home: join(root, 'home'), maxAttempts: 1, stallMs: oneDayMs, ...downloadOptions },
    ...otherOptions,
  };
  const server = await startTestServer(serverOptions);
  return {
    hub,
    server,
    listFiles: async () =>
      (await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []))
        .filter((file) => file.isFile())
        .map(({ name }) => name)
        .sort(),
    readModelFile: (path) => readFile(join(folder, path)),
    fileSize: async (path) => (await stat(join(folder, path)).catch(() => undefined))?.size ?? 0,
    startAnother: () => startTestServer(serverOptions),
    connect: (subprotocol, engine) => TestClient.connect(server.url, subprotocol, engine),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await hub[Symbol.asyncDispose]();
      await rm(root, { recursive: true });
    },
  };
}
