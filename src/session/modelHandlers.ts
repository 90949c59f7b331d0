import { filesKey } from '../download/downloads.ts';
import { Fault } from '../fault.ts';
import type { CodeName } from '../frames.gen.ts';
import type { CatalogueEntry } from '../models/catalogue/catalogue.ts';
import type { Waiting } from '../models/pool/loadWait.ts';
import type { Handlers } from './handler.ts';
import { modelInfos } from './modelInfos.ts';
import { downloadProgress, loadProgress } from './modelProgress.ts';
import type { Reply } from './reply.ts';
import type { House, Session } from './session.ts';

/** What the server does for the messages about models. */
export const modelHandlers = {
  async listModels({ pool, house }, { pageToken }, reply) {
    reply('listModels', await modelInfos(pool, house.downloads, pageToken));
  },

  loadModel(session, { modelName }, reply) {
    session.beOpen();
    // What is to stay is loaded also when the client has gone, but not when the server goes.
    const waiting = { onProgress: loadProgress(modelName, reply), signal: session.house.closing };
    return { meanwhile: session.pool.pin(modelName, waiting).then(() => reply('loadModel', {})) };
  },

  async unloadModel({ pool }, { modelName }, reply) {
    await pool.unpin(modelName);
    reply('ack', {});
  },

  downloadModel(session, { modelName }, reply) {
    session.beOpen();
    const { signal, pool, house } = session;
    const onProgress = downloadProgress(modelName, reply);
    const download = house.downloads.start(pool.entry(modelName), session, { signal, onProgress });
    return { meanwhile: download.then(({ bytes }) => reply('downloadModel', { sizeBytes: bytes })) };
  },

  cancelDownload(session, { modelName }, reply) {
    const { name } = session.pool.entry(modelName);
    for (const owner of session.downloaders) session.house.downloads.cancel(name, owner);
    reply('ack', {});
  },

  async deleteModel({ pool, house, signal }, { modelName }, reply) {
    const entry = pool.entry(modelName);
    await house.downloads.remove(entry, { signal, letGo: () => letGo(house, entry) });
    reply('ack', {});
  },
} as const satisfies Partial<Handlers>;

/**
 * Frees the models of some files before these are deleted, whatever name and engine they are used by; nobody loads them
 * until the hold is disposed of. @throws Fault MODEL_IN_USE
 */
async function letGo({ pools }: House, entry: CatalogueEntry): Promise<Disposable> {
  const holds: Disposable[] = [];
  const end = (): void => holds.forEach((hold) => hold[Symbol.dispose]());
  try {
    for (const pool of Object.values(pools)) {
      const same = [...pool.catalogue.models.values()].filter((other) => filesKey(other) === filesKey(entry));
      for (const { name } of same) holds.push(await pool.hold(name));
    }
    return { [Symbol.dispose]: end };
  } catch (error) {
    end();
    throw error;
  }
}

/** How a session waits for the model of an agent: it hears how far it is, and has it downloaded if it wants that. */
export function modelWaiting(session: Session, model: string, reply: Reply): Waiting {
  const onProgress = loadProgress(model, reply);
  if (!session.autoDownloads) return { onProgress };
  return {
    onProgress,
    async fetch(entry) {
      const { signal, house, downloaders } = session;
      // Each agent asks for itself: two of one session wait for the same download.
      const owner = {};
      downloaders.add(owner);
      try {
        await house.downloads.start(entry, owner, { signal, onProgress: downloadProgress(model, reply) });
      } catch (error) {
        throw autoFault(model, error);
      } finally {
        downloaders.delete(owner);
      }
    },
  };
}

// What is not for want of the model is told as it is.
const told = new Set<CodeName>(['DOWNLOAD_CANCELLED', 'SERVER_SHUTTING_DOWN', 'INTERNAL']);

function autoFault(model: string, cause: unknown): unknown {
  const { name, message } = Fault.from(cause);
  if (told.has(name)) return cause;
  return new Fault('MODEL_AUTO_DOWNLOAD_FAILED', `"${model}" could not be downloaded: ${message}`, { cause });
}
