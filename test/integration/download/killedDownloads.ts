import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FakeHub, seededBytes } from '../../helpers/fakeHub.ts';

/** Size of a download, and how often it is killed. */
export interface KillPlan {
  readonly bytes: number;
  readonly kills: number;
  readonly seed: number;
}

/** Result of a download that was killed. */
export interface KillResult {
  /** Whether the file is complete at the end. */
  readonly isComplete: boolean;
  /** For each kill: bytes that the hub sent before it and again after it. */
  readonly resentBytes: readonly number[];
}

const cli = fileURLToPath(new URL('../../../dist/cli/turngraph.js', import.meta.url));

/** Downloads a model with the built CLI, and kills it `kills` times at random bytes before it may finish. */
export async function downloadDespiteKills({ bytes, kills, seed }: KillPlan): Promise<KillResult> {
  const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  await using hub = await FakeHub.open();
  const content = seededBytes(bytes, seed);
  hub.files.set('ann/big/model.gguf', { content });
  hub.maxUnreadBytes = 2 ** 18;
  const variants = [{ engine: 'llama-cpp', huggingface_repo: 'ann/big', files: ['model.gguf'] }];
  const catalogue = join(folder, 'models.json');
  await writeFile(catalogue, JSON.stringify({ models: [{ name: 'Big', variants }] }));
  const start = (): ChildProcess =>
    spawn(process.execPath, [cli, 'models', 'download', 'Big', '--catalogue', catalogue, '--models', folder], {
      env: { ...process.env, HF_ENDPOINT: hub.url, HF_HUB_CACHE: join(folder, 'cache') },
      stdio: 'ignore',
    });
  const resentBytes: number[] = [];
  try {
    const random = createRandom(seed);
    const killOffsets = Array.from({ length: kills }, () => Math.floor(random() * (bytes - 2 ** 16))).sort(
      (a, b) => a - b,
    );
    for (const killOffset of killOffsets) {
      const child = start();
      const exited = once(child, 'exit');
      const requestsBefore = hub.contentRequests().length;
      // A process is killed only once it has requested bytes.
      hub.onBytesSent = () => {
        const from = rangeStart(hub.contentRequests().at(-1)?.headers.range);
        const { bytesSent = 0 } = hub.contentResponses.at(-1) ?? {};
        if (hub.contentRequests().length === requestsBefore || from + bytesSent < killOffset) return;
        // The hub sends nothing more while the process ends.
        hub.maxBytesSent = 0;
        child.kill('SIGKILL');
      };
      await exited;
      hub.onBytesSent = () => undefined;
      hub.maxBytesSent = Infinity;
    }
    const last = start();
    const [code] = (await once(last, 'exit')) as [number | null];
    const file = await readFile(join(folder, 'ann', 'big', 'model.gguf')).catch(() => Buffer.alloc(0));
    const gets = hub.contentRequests();
    for (const [index, { bytesSent }] of hub.contentResponses.entries()) {
      const next = gets[index + 1];
      if (next) resentBytes.push(rangeStart(gets[index]?.headers.range) + bytesSent - rangeStart(next.headers.range));
    }
    return { isComplete: code === 0 && file.equals(content), resentBytes };
  } finally {
    await rm(folder, { recursive: true });
  }
}

const rangeStart = (range = ''): number => Number(/^bytes=(\d+)-/.exec(range)?.[1] ?? 0);

/** Pseudorandom numbers from 0 to 1; the same for the same seed. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
