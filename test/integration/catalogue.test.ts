import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundledPath } from '../../src/config.ts';
import { subprotocols, TestClient, useServer } from '../helpers/server.ts';

let folder = '';
const cataloguePath = (): string => join(folder, 'models.json');
const variant = { engine: 'llama-cpp', local_path: '.', files: ['x.gguf'] };
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  const models = [{ name: 'mine', variants: [{ ...variant, contxt_size: 1 }] }];
  await writeFile(cataloguePath(), JSON.stringify({ models }));
});
afterAll(() => rm(folder, { recursive: true }));

describe.each(subprotocols)('a models.json with an invalid entry, over %s', (subprotocol) => {
  const server = useServer({
    get catalogue() {
      return cataloguePath();
    },
  });
  const problem = (): string =>
    `the catalogue has an entry "mine", but it cannot be used: ${cataloguePath()}:1:97: ` +
    '/models/0/variants/0/contxt_size is not known here; did you mean "context_size"?';
  const graph = { start_node: 'say', nodes: { say: { type: 'Generate', params: {} } } };

  it('says why the model is not there, in each answer that names it', async () => {
    await using client = await TestClient.connect(server().url, subprotocol, 'llama-cpp');
    const graphJson = JSON.stringify(graph);
    expect(await client.request('createAgent', { graphJson, defaultModelName: 'mine' })).toMatchObject({
      error: { message: expect.stringContaining(problem()) as unknown },
    });
    for (const body of ['loadModel', 'unloadModel', 'downloadModel', 'cancelDownload', 'deleteModel'] as const)
      expect(await client.request(body, { modelName: 'mine' })).toMatchObject({
        error: { code: 6007, message: problem() },
      });
  });

  it('serves the bundled models', async () => {
    await using client = await TestClient.connect(server().url, subprotocol, 'llama-cpp');
    const graphJson = JSON.stringify(graph);
    expect(await client.request('createAgent', { graphJson, defaultModelName: 'turngraph-demo' })).toHaveProperty(
      'createAgent',
    );
  });
});

describe.each(subprotocols)('an unknown graph_name, over %s', (subprotocol) => {
  const ownServer = useServer({
    get graphs() {
      return folder;
    },
  });
  const bundledServer = useServer({ graphs: bundledPath('graphs') });

  it('is answered with the folder as it was given', async () => {
    await using client = await TestClient.connect(ownServer().url, subprotocol);
    expect(await client.request('createAgent', { graphName: 'lamp' })).toMatchObject({
      error: { code: 3003, message: `the graphs folder ${folder} has no graph "lamp"; there are models` },
    });
  });

  it('does not say where the package is installed', async () => {
    await using client = await TestClient.connect(bundledServer().url, subprotocol);
    expect(await client.request('createAgent', { graphName: 'lamp-swich' })).toMatchObject({
      error: {
        code: 3003,
        message: 'the bundled graphs folder has no graph "lamp-swich"; did you mean "lamp-switch"?',
      },
    });
  });
});
