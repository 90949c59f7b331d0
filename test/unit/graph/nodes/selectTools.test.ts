import { setImmediate as nextRound } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Agent } from '../../../../src/graph/agent/agent.ts';
import { defaultServerOptions } from '../../../../src/server/config.ts';
import { mockEngine } from '../../../../src/inference/mock/engine.ts';
import { readCatalogue } from '../../../../src/inference/models/catalogue/catalogue.ts';
import { ModelPool } from '../../../../src/inference/models/pool/pool.ts';
import { registryWith } from '../../../../src/graph/nodes/index.ts';
import { SessionStorages } from '../../../../src/graph/storage/sessionStorages.ts';
import { StorageRoot } from '../../../../src/graph/storage/storageRoot.ts';
import { Gate } from '../../../helpers/gate.ts';
import { house } from '../../../helpers/guidelineGraphs.ts';
import { repositoryPath } from '../../../helpers/server.ts';

describe('a SelectTools node with a model', () => {
  it('asks no further question while the client does not read the events of the last one', async () => {
    const engine = mockEngine();
    const catalogue = await readCatalogue(repositoryPath('models.json'));
    const options = { idleMs: 0, slots: 1, threads: 1, gpu: 'off', needsName: false, catalogue } as const;
    await using pool = new ModelPool(engine, options);
    await using agent = await Agent.create({
      id: 1,
      graph: house({ select: { match: 'model' } }),
      registry: registryWith(),
      pool,
      storages: new SessionStorages(new StorageRoot('.'), Infinity),
      defaultModelName: '',
      diagnostics: true,
      maxSteps: 0,
      history: [],
      limits: defaultServerOptions(),
      turnTimeoutMs: 10_000,
    });
    const gate = new Gate();
    let isHeld = false;
    const turn = agent.send(
      'hello',
      {},
      {
        emit: (_, frame) => void (isHeld ||= 'eventType' in frame && frame.eventType === 'inference'),
        backpressure: () => (isHeld ? gate.closed : undefined),
      },
    );
    for (let round = 0; round < 100; round++) await nextRound();
    expect(engine.prompts).toHaveLength(1);
    gate.open();
    expect(await turn).toBeUndefined();
    expect(engine.prompts.length).toBeGreaterThan(4);
  });
});
