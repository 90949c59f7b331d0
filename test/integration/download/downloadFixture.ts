import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach } from 'vitest';
import { Downloads, type DownloadOptions } from '../../../src/inference/download/downloads.ts';
import type { ModelSource, ModelSourceVariant } from '../../../src/inference/download/target.ts';
import { Fault } from '../../../src/protocol/fault.ts';
import { FakeHub } from '../../helpers/fakeHub.ts';
import { oneDayMs } from '../../helpers/heldEngine.ts';

/** A fake hub, an empty models folder and environment variables, new for each test. */
export interface DownloadFixture {
  readonly hub: FakeHub;
  readonly folder: string;
  readonly env: Record<string, string>;
  /** Home folder of the user, in which other programs have their models. */
  readonly home: string;
  /** Milliseconds of each retry delay; the test does not wait for them. */
  readonly waits: number[];
  /** Creates downloads into the folder; they are disposed of after the test. */
  createDownloads(options?: DownloadOptions): Downloads;
  /** All files in the models folder, sorted. */
  listFiles(): Promise<readonly string[]>;
}

/** Creates a download fixture for each test of a file. */
export function useDownloadFixture(): () => DownloadFixture {
  let fixture: DownloadFixture | undefined;
  let isOver = false;
  const open: Downloads[] = [];
  beforeEach(async () => {
    isOver = false;
    const hub = await FakeHub.open();
    const root = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const folder = join(root, 'models');
    const home = join(root, 'home');
    const env: Record<string, string> = { HF_ENDPOINT: hub.url, HF_HUB_CACHE: join(root, 'cache') };
    const waits: number[] = [];
    const wait = async (ms: number, signal: AbortSignal): Promise<void> => {
      signal.throwIfAborted();
      waits.push(ms);
    };
    const downloads = (options: DownloadOptions = {}): Downloads => {
      const made = new Downloads(folder, { env, home, wait, stallMs: oneDayMs, ...options });
      open.push(made);
      return made;
    };
    const files = async (): Promise<readonly string[]> =>
      (await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []))
        .filter((entry) => entry.isFile())
        .map(({ name }) => name)
        .sort();
    hub.beforeCut = async (bytes) => {
      const part = join(folder, 'ann', 'tiny', 'model.gguf.part');
      const size = async (): Promise<number> => (await stat(part).catch(() => undefined))?.size ?? 0;
      while (!isOver && (await size()) < bytes) await sleep(5);
    };
    fixture = { hub, folder, env, home, waits, createDownloads: downloads, listFiles: files };
  });
  afterEach(async () => {
    isOver = true;
    for (const downloads of open.splice(0)) await downloads[Symbol.asyncDispose]();
    if (!fixture) return;
    await fixture.hub[Symbol.asyncDispose]();
    await rm(join(fixture.folder, '..'), { recursive: true });
  });
  return () => {
    if (!fixture) throw new Error('the fixture exists only during a test');
    return fixture;
  };
}

/** A model with one file, `model.gguf` of `ann/tiny`. */
export function tinyModel(overrides: Partial<ModelSourceVariant> = {}): ModelSource {
  const variant = { huggingface_repo: 'ann/tiny', revision: 'main', files: ['model.gguf'], ...overrides };
  return { name: 'Tiny', file: undefined, variants: [variant] };
}

/** Code and message of the Fault that a promise is rejected with. */
export async function catchFault(work: Promise<unknown>): Promise<readonly [number, string]> {
  const thrown: unknown = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (thrown instanceof Fault) return [thrown.code, thrown.message];
  throw new Error(`it did not fail with a Fault: ${String(thrown)}`, { cause: thrown });
}
