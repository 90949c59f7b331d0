import { Fault } from '../../protocol/fault.ts';
import type { SearchPaths } from './isComplete.ts';
import { locateFiles } from './locate.ts';
import { locateLoras, loraTargets } from './lora.ts';
import { targetsOf, targetsOrEmpty, type ModelSource, type Target } from './target.ts';

/** The files of a model, its LoRA adapters included, that could be downloaded. */
export function allTargets(source: ModelSource, folder: string): readonly Target[] {
  const model = targetsOrEmpty(source, folder);
  try {
    return [...model, ...loraTargets(source, folder)];
  } catch {
    return model;
  }
}

/**
 * What is to be downloaded of a model: its files unless they are on disk, and the LoRA adapters that are not.
 * @throws Fault DOWNLOAD_NOT_AVAILABLE when its entry does not say where from, or an adapter of the user's own is missing.
 */
export async function missingTargets(source: ModelSource, paths: SearchPaths): Promise<readonly Target[]> {
  const model = (await locateFiles(source, paths)) ? [] : targetsOf(source, paths.folder);
  const loras = await locateLoras(source, paths);
  const own = loras.findIndex(({ path, target }) => path === undefined && target === undefined);
  if (own >= 0)
    throw new Fault(
      'DOWNLOAD_NOT_AVAILABLE',
      `"${source.name}" cannot be downloaded: there is no LoRA ${source.loraFiles?.[own]}, which is a file of your own`,
    );
  return [...model, ...loras.flatMap(({ path, target }) => (path === undefined && target ? [target] : []))];
}
