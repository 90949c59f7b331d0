import { describe, expect, it } from 'vitest';
import { LiveCatalogue } from '../../../../../src/inference/models/catalogue/liveCatalogue.ts';
import { parseCatalogue } from '../../../../../src/inference/models/catalogue/catalogue.ts';

const parse = (...models: readonly object[]) => parseCatalogue(JSON.stringify({ models }), 'models.json');
const entry = (name: string, more: object = {}): object => ({
  name,
  variants: [{ engine: 'llama-cpp', files: ['x.gguf'] }],
  ...more,
});

describe('an updated catalogue', () => {
  it('has what was added, what has changed, and no longer what was removed', () => {
    const catalogue = new LiveCatalogue(parse(entry('same'), entry('edited'), entry('old')));
    const change = catalogue.update(parse(entry('same'), entry('edited', { description: 'x' }), entry('new')));
    expect(change).toEqual({ added: ['new'], changed: ['edited'], removed: ['old'], kept: [], problems: [] });
    expect([...catalogue.models.keys()]).toEqual(['same', 'edited', 'new']);
    expect(catalogue.models.get('edited')?.description).toBe('x');
  });

  it('is no change when the entries are the same', () => {
    const catalogue = new LiveCatalogue(parse(entry('same')));
    expect(catalogue.update(parse(entry('same')))).toBeUndefined();
  });

  it('keeps the last valid entry of a model that has become invalid, until it is valid again', () => {
    const catalogue = new LiveCatalogue(parse(entry('mine', { description: 'first' })));
    const broken = parse(entry('mine', { descripton: 'second' }));
    expect(catalogue.update(broken)).toMatchObject({
      kept: ['mine'],
      changed: [],
      removed: [],
      problems: [expect.any(String)],
    });
    expect(catalogue.models.get('mine')?.description).toBe('first');
    expect([catalogue.rejected.size, catalogue.problems.length]).toEqual([0, 1]);
    expect(catalogue.update(broken)).toBeUndefined();
    expect(catalogue.update(parse(entry('mine', { description: 'second' })))).toMatchObject({
      changed: ['mine'],
      kept: [],
    });
    expect(catalogue.problems).toEqual([]);
  });

  it('says why a new entry that is invalid is not there', () => {
    const catalogue = new LiveCatalogue(parse());
    catalogue.update(parse(entry('mine', { descripton: '' })));
    expect([...catalogue.rejected.keys(), ...catalogue.models.keys()]).toEqual(['mine']);
  });
});
