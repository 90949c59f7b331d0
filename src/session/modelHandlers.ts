import { Fault } from '../fault.ts';
import type { Waiting } from '../models/waiting.ts';
import type { Handlers } from './handler.ts';
import { modelInfos } from './modelInfos.ts';
import { downloadProgress, loadProgress } from './modelProgress.ts';
import type { Reply } from './reply.ts';
import type { Session } from './session.ts';

/** What the server does for the messages about models. */
export const modelHandlers = {
  async listModels({ pool, house }, { pageToken }, reply) {
    reply('listModels', await modelInfos(pool, house.downloads, pageToken));
  },

  loadModel(session, { modelName }, reply) {
    session.beOpen();
    const pinned = session.pool.pin(modelName, loadProgress(modelName, reply));
    return { meanwhile: pinned.then(() => reply('loadModel', {})) };
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
    session.house.downloads.cancel(session.pool.entry(modelName).name, session);
    reply('ack', {});
  },

  async deleteModel({ pool, house, signal }, { modelName }, reply) {
    await pool.release(modelName);
    await house.downloads.remove(pool.entry(modelName), signal);
    reply('ack', {});
  },
} as const satisfies Partial<Handlers>;

/** How a session waits for the model of an agent: it hears how far it is, and has it downloaded if it wants that. */
export function modelWaiting(session: Session, model: string, reply: Reply): Waiting {
  const onProgress = loadProgress(model, reply);
  if (!session.autoDownloads) return { onProgress };
  return {
    onProgress,
    async fetch(entry) {
      const { signal } = session;
      try {
        // Each agent asks for itself: two of one session wait for the same download.
        await session.house.downloads.start(entry, {}, { signal, onProgress: downloadProgress(model, reply) });
      } catch (error) {
        const { message } = Fault.from(error);
        throw new Fault('MODEL_AUTO_DOWNLOAD_FAILED', `"${model}" could not be downloaded: ${message}`, {
          cause: error,
        });
      }
    },
  };
}
