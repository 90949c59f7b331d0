import type { Catalogue, CatalogueEntry } from './catalogue.ts';

/** What an update of a catalogue has changed: names of models, and problems that are new. */
export interface CatalogueChange {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  /** Models whose entry has become invalid: they keep their last valid entry. */
  readonly kept: readonly string[];
  readonly problems: readonly string[];
}

/** A catalogue that can be updated while it is used. */
export class LiveCatalogue implements Catalogue {
  #current: Catalogue;

  constructor(initial: Catalogue) {
    this.#current = initial;
  }

  get models(): Catalogue['models'] {
    return this.#current.models;
  }

  get problems(): Catalogue['problems'] {
    return this.#current.problems;
  }

  get rejected(): Catalogue['rejected'] {
    return this.#current.rejected;
  }

  /** Takes over what was read anew. Undefined when nothing has changed. */
  update(next: Catalogue): CatalogueChange | undefined {
    const { models, problems } = this.#current;
    const kept = [...models].filter(([name]) => next.rejected.has(name));
    const merged = new Map([...next.models, ...kept]);
    const change: CatalogueChange = {
      added: [...merged.keys()].filter((name) => !models.has(name)),
      changed: [...merged].filter(([name, entry]) => isChanged(models.get(name), entry)).map(([name]) => name),
      removed: [...models.keys()].filter((name) => !merged.has(name)),
      kept: kept.map(([name]) => name),
      problems: next.problems.filter((problem) => !problems.includes(problem)),
    };
    const rejected = new Map([...next.rejected].filter(([name]) => !merged.has(name)));
    this.#current = { models: merged, problems: next.problems, rejected };
    const { added, changed, removed, problems: newProblems } = change;
    return [added, changed, removed, newProblems].some((names) => names.length > 0) ? change : undefined;
  }
}

const isChanged = (old: CatalogueEntry | undefined, entry: CatalogueEntry): boolean =>
  old !== undefined && JSON.stringify(old) !== JSON.stringify(entry);
