import { describeError } from '../../../protocol/fault.ts';
import { isNoFileError } from '../../../base/filesystem.ts';
import type { Log } from '../../../base/log.ts';
import type { Catalogue, CatalogueEntry } from './catalogue.ts';
import { FileWatcher, retryDelayMs } from './fileWatcher.ts';

/** A catalogue that can be updated while it is used. */
export class LiveCatalogue implements Catalogue {
  models: Catalogue['models'];
  problems: Catalogue['problems'];
  rejected: Catalogue['rejected'];

  constructor({ models, problems, rejected }: Catalogue) {
    this.models = models;
    this.problems = problems;
    this.rejected = rejected;
  }

  /** Takes over what was read anew. Returns names of models, and problems that are new; undefined: nothing has changed. */
  update(next: Catalogue) {
    const { models, problems } = this;
    const kept = [...models].filter(([name]) => next.rejected.has(name));
    const merged = new Map([...next.models, ...kept]);
    const change = {
      added: [...merged.keys()].filter((name) => !models.has(name)),
      changed: [...merged].filter(([name, entry]) => isChanged(models.get(name), entry)).map(([name]) => name),
      removed: [...models.keys()].filter((name) => !merged.has(name)),
      /** Models whose entry has become invalid: they keep their last valid entry. */
      kept: kept.map(([name]) => name),
      problems: next.problems.filter((problem) => !problems.includes(problem)),
    };
    this.models = merged;
    this.problems = next.problems;
    this.rejected = new Map([...next.rejected].filter(([name]) => !merged.has(name)));
    const { added, changed, removed, problems: newProblems } = change;
    return [added, changed, removed, newProblems].some((names) => names.length > 0) ? change : undefined;
  }
}

const isChanged = (old: CatalogueEntry | undefined, entry: CatalogueEntry): boolean =>
  old !== undefined && JSON.stringify(old) !== JSON.stringify(entry);

/**
 * Watches a catalogue file, and updates the catalogue when its content changes. A file that cannot be read, and an entry that
 * has become invalid, leave the last valid entries in place. A file that cannot be read for want of file handles is read
 * again later.
 */
export function watchCatalogue(
  path: string,
  catalogue: LiveCatalogue,
  read: () => Promise<Catalogue>,
  log: Log,
): FileWatcher {
  let lastProblem: string | undefined;
  return new FileWatcher({
    path,
    async onChange() {
      try {
        logChange(log, catalogue.update(await read()));
        lastProblem = undefined;
        return { retry: false };
      } catch (error) {
        const problem = describeError(error);
        if (problem !== lastProblem) log.warn({ problem }, 'the catalogue cannot be read: its last valid entries stay');
        lastProblem = problem;
        return { retry: isPassing(error) };
      }
    },
    onFailure: (problem) => log.warn({ problem }, notWatchedMessage),
  });
}

const notWatchedMessage = `the catalogue is not watched: it is read again every ${retryDelayMs / 1000} seconds`;

/** Whether the file could not be read for a reason that ends without a change of the file: no file handles, for example. */
function isPassing(error: unknown): boolean {
  const { cause } = Object(error) as { readonly cause?: unknown };
  const { code } = Object(cause) as { readonly code?: unknown };
  return typeof code === 'string' && !isNoFileError(cause);
}

function logChange(log: Log, change: ReturnType<LiveCatalogue['update']>): void {
  if (!change) return;
  const { problems, kept, added, changed, removed } = change;
  for (const problem of problems) log.warn({ problem }, 'the catalogue has an entry that cannot be used');
  if (problems.length > 0 && kept.length > 0) log.warn({ kept }, 'these models keep their last valid entry');
  if (added.length + changed.length + removed.length > 0)
    log.info({ added, changed, removed }, 'the catalogue has changed');
}
