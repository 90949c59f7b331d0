import type { OnDownload } from '../../inference/download/progress.ts';
import type { OnProgress } from '../../inference/models/pool/loadWait.ts';
import type { Reply } from './handler.ts';

// Throttles load progress to at most 50 frames per load: finer steps are not visible in a progress bar.
const minFractionStep = 0.02;

/** Reports load progress to the client whose request waits for the model; throttled to steps of 2 %. */
export function loadProgress(modelName: string, reply: Reply): OnProgress {
  let lastSent = -1;
  return (fraction) => {
    if (fraction < 1 && fraction - lastSent < minFractionStep) return;
    lastSent = fraction;
    reply('modelProgress', { modelName, phase: 'LOADING', fraction, bytesDone: 0, bytesTotal: 0 });
  };
}

/** Reports download progress to the client whose request waits for the model; throttled by the download itself. */
export const downloadProgress =
  (modelName: string, reply: Reply): OnDownload =>
  (progress) =>
    reply('modelProgress', { modelName, ...progress });
