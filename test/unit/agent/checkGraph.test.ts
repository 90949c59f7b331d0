import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkGraph } from '../../../src/agent/checkGraph.ts';
import { Agent } from '../../../src/agent/agent.ts';
import { defaultServerOptions, limitsOf } from '../../../src/config.ts';
import { mockEngine } from '../../../src/engine/mock/engine.ts';
import { Fault } from '../../../src/fault.ts';
import { readCatalogue } from '../../../src/models/catalogue/catalogue.ts';
import { ModelPool } from '../../../src/models/pool/pool.ts';
import { registryWith } from '../../../src/nodes/index.ts';
import { StorageRoot } from '../../../src/storage/storageRoot.ts';
import { SessionStorages } from '../../../src/storage/sessionStorages.ts';
import { repositoryPath } from '../../helpers/server.ts';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const folder = repositoryPath('graphs');
const examples = readdirSync(folder)
  .filter((file) => file.endsWith('.json') && file !== 'graph.schema.json')
  .map((file) => [file, JSON.parse(readFileSync(join(folder, file), 'utf8')) as Json] as const);

const registry = registryWith();
const catalogue = await readCatalogue(repositoryPath('models.json'));

const token = (name: string | number): string => `/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`;

/** One way to break a graph: the broken document, and the pointer that its faults must name. */
interface Break {
  readonly what: string;
  readonly document: Json;
  readonly pointer: string;
}

/** All ways to break one value of a document, told by where it stands. */
function* breaksOf(value: Json, pointer: string, put: (other: Json) => Json): Generator<Break> {
  const wrong = typeof value === 'number' ? 'many' : 4711;
  // Enums, types and targets are strings too: a number is right in none of their places.
  yield { what: `${JSON.stringify(wrong)} at ${pointer || 'the root'}`, document: put(wrong), pointer };
  if (value === null || typeof value !== 'object') return;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      yield* breaksOf(item, pointer + token(index), (other) => put(value.with(index, other)));
    }
    return;
  }
  if (closed(pointer))
    yield {
      what: `a stranger in ${pointer || 'the root'}`,
      document: put({ ...value, strangr: 1 }),
      pointer: `${pointer}/strangr`,
    };
  for (const [key, member] of Object.entries(value)) {
    yield* breaksOf(member, pointer + token(key), (other) => put({ ...value, [key]: other }));
  }
}

// Objects that take names of the author's choosing: nodes, and what a JSON Schema holds.
const closed = (pointer: string): boolean => pointer !== '/nodes';

const breaks = examples.flatMap(([file, document]) =>
  [...breaksOf(document, '', (other) => other)].map((one) => [`${file}: ${one.what}`, one] as const),
);

describe('a graph that is broken in one place', () => {
  it('is broken in more than 200 ways here', () => {
    expect(breaks.length).toBeGreaterThan(200);
  });

  it.each(breaks)('is refused with the pointer to it: %s', async (_, { document, pointer }) => {
    const { faults } = await checkGraph(document, { registry, catalogue, storageRoot: folder });
    expect(faults.map((fault) => fault.pointer)).toContain(pointer);
    for (const { message } of faults) expect(message).toMatch(/\S+ .+/);
  });

  it('leaves nothing behind of what was made before', async () => {
    await using pool = new ModelPool(mockEngine(), { catalogue, idleMs: 0, slots: 1, threads: 1, gpu: 'off' });
    const storages = new SessionStorages(new StorageRoot(folder), Infinity);
    const usual = {
      id: 1,
      registry,
      pool,
      storages,
      defaultModelName: '',
      diagnostics: false,
      maxSteps: 0,
      history: [],
      turnTimeoutMs: 1000,
    };
    for (const [, { document }] of breaks) {
      await expect(
        Agent.create({ ...usual, graph: document, limits: limitsOf(defaultServerOptions()) }),
      ).rejects.toBeInstanceOf(Fault);
    }
    expect([...catalogue.models.keys()].filter((name) => pool.state(name).uses > 0)).toEqual([]);
  });
});
