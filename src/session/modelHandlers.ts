import { filesKey } from '../download/downloads.ts';
import { Fault } from '../fault.ts';
import type { CodeName } from '../frames.gen.ts';
import type { CatalogueEntry } from '../models/catalogue/catalogue.ts';
import type { LoadWait } from '../models/pool/loadWait.ts';
import type { Handlers, Reply } from './handler.ts';
import { modelInfos } from './modelInfos.ts';
import { downloadProgress, loadProgress } from './modelProgress.ts';
import type { ServerContext, Session } from './session.ts';

/** What the server does for the messages about models. */
export const modelHandlers = {
  async listModels({ pool, context }, { pageToken }, reply) {
    reply('listModels', await modelInfos(pool, context.downloads, pageToken));
  },

  loadModel(session, { modelName }, reply) {
    session.assertOpen();
    // What is to stay is loaded also when the client has gone, but not when the server goes.
    const loadWait = { onProgress: loadProgress(modelName, reply), signal: session.context.closing };
    return { background: session.pool.pin(modelName, loadWait).then(() => reply('loadModel', {})) };
  },

  async unloadModel({ pool }, { modelName }, reply) {
    await pool.unpin(modelName);
    reply('ack', {});
  },

  downloadModel(session, { modelName }, reply) {
    session.assertOpen();
    const { signal, pool, context } = session;
    const onProgress = downloadProgress(modelName, reply);
    const download = context.downloads.start(pool.entry(modelName), session, { signal, onProgress });
    return { background: download.then(({ bytes }) => reply('downloadModel', { sizeBytes: bytes })) };
  },

  cancelDownload(session, { modelName }, reply) {
    const { name } = session.pool.entry(modelName);
    for (const owner of session.downloadOwners) session.context.downloads.cancel(name, owner);
    reply('ack', {});
  },

  async deleteModel({ pool, context, signal }, { modelName }, reply) {
    const entry = pool.entry(modelName);
    await context.downloads.remove(entry, { signal, releaseModels: () => releaseModels(context, entry) });
    reply('ack', {});
  },
} as const satisfies Partial<Handlers>;

/**
 * Frees the models of some files before these are deleted, whatever name and engine they are used by; nobody loads them
 * until the hold is disposed of. @throws Fault MODEL_IN_USE
 */
async function releaseModels({ pools }: ServerContext, entry: CatalogueEntry): Promise<Disposable> {
  const holds: Disposable[] = [];
  const end = (): void => holds.forEach((hold) => hold[Symbol.dispose]());
  try {
    for (const pool of Object.values(pools)) {
      const same = [...pool.catalogue.models.values()].filter((other) => filesKey(other) === filesKey(entry));
      for (const { name } of same) holds.push(await pool.blockLoads(name));
    }
    return { [Symbol.dispose]: end };
  } catch (error) {
    end();
    throw error;
  }
}

/** How a session waits for the model of an agent: it hears how far it is, and has it downloaded if it wants that. */
export function loadWaitFor(session: Session, model: string, reply: Reply): LoadWait {
  const onProgress = loadProgress(model, reply);
  if (!session.autoDownloads) return { onProgress };
  return {
    onProgress,
    async download(entry) {
      const { signal, context, downloadOwners: downloaders } = session;
      // Each agent asks for itself: two of one session wait for the same download.
      const owner = {};
      downloaders.add(owner);
      try {
        await context.downloads.start(entry, owner, { signal, onProgress: downloadProgress(model, reply) });
      } catch (error) {
        throw autoDownloadFault(model, error);
      } finally {
        downloaders.delete(owner);
      }
    },
  };
}

// What is not for want of the model is told as it is.
const codesPassedThrough = new Set<CodeName>(['DOWNLOAD_CANCELLED', 'SERVER_SHUTTING_DOWN', 'INTERNAL']);

function autoDownloadFault(model: string, cause: unknown): unknown {
  const { name, message } = Fault.from(cause);
  if (codesPassedThrough.has(name)) return cause;
  return new Fault('MODEL_AUTO_DOWNLOAD_FAILED', `"${model}" could not be downloaded: ${message}`, { cause });
}
