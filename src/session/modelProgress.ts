import type { OnDownload } from '../download/progress.ts';
import type { OnProgress } from '../models/pool/loadWait.ts';
import type { Reply } from './handler.ts';

// A bar that a person watches needs no finer steps.
const minFractionStep = 0.02;

/** Tells the client how far a model is loaded that its request waits for. */
export function loadProgress(modelName: string, reply: Reply): OnProgress {
  let told = -1;
  return (fraction) => {
    if (fraction < 1 && fraction - told < minFractionStep) return;
    told = fraction;
    reply('modelProgress', { modelName, phase: 'LOADING', fraction, bytesDone: 0, bytesTotal: 0 });
  };
}

/** Tells the client how far a model is downloaded that its request waits for. */
export const downloadProgress =
  (modelName: string, reply: Reply): OnDownload =>
  (progress) =>
    reply('modelProgress', { modelName, ...progress });
