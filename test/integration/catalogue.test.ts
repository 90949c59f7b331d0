import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundledPath } from '../../src/base/packageFiles.ts';
import { subprotocols, TestClient, useServer } from '../helpers/server.ts';

let folder = '';
const cataloguePath = (): string => join(folder, 'models.json');
const variant = { engine: 'llama-cpp', local_path: '.', files: ['x.gguf'] };
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  const models = [
    { name: 'mine', variants: [{ ...variant, contxt_size: 1 }] },
    { name: 'search', purpose: 'embedding', variants: [variant] },
  ];
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

describe.each(subprotocols)('an embedding model, over %s', (subprotocol) => {
  const server = useServer({
    get catalogue() {
      return cataloguePath();
    },
  });
  const generate = (params: object) => ({ start_node: 'say', nodes: { say: { type: 'Generate', params } } });

  it.each([
    ['by a node', generate({ model_name: 'search' }), '', '/nodes/say/params/model_name'],
    ['as the default of a graph', { ...generate({}), default_model_name: 'search' }, '', '/default_model_name'],
    ['as the default of a request', generate({}), 'search', ''],
  ])('is refused where it is named %s to generate text', async (_, graph, defaultModelName, pointer) => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const graphJson = JSON.stringify(graph);
    const answer = await client.request('createAgent', { graphJson, defaultModelName });
    const message = expect.stringContaining(
      '"search" is an embedding model, which generates no text; name a chat model such as "turngraph-demo"',
    ) as unknown;
    const detail = expect.stringContaining(JSON.stringify({ code: 'GRAPH_COMPILATION_FAILED', pointer }).slice(0, -1));
    expect(answer).toMatchObject({ error: { code: 3003, message, detail: detail as unknown } });
  });

  it('is listed with its purpose', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const answer = await client.request('listModels', {});
    const entry = (name: string, purpose: string): unknown => expect.objectContaining({ name, purpose });
    expect(answer).toMatchObject({
      listModels: {
        models: expect.arrayContaining([entry('search', 'embedding'), entry('turngraph-demo', 'chat')]) as unknown,
      },
    });
  });
});

describe.each(subprotocols)('an unknown graph_name, over %s', (subprotocol) => {
  const ownServer = useServer({
    get graphs() {
      return folder;
    },
  });
  const bundledServer = useServer({ graphs: bundledPath('graphs') });

  it('does not say where the folder is', async () => {
    await using client = await TestClient.connect(ownServer().url, subprotocol);
    expect(await client.request('createAgent', { graphName: 'lamp' })).toMatchObject({
      error: { code: 3003, message: 'the graphs folder has no graph "lamp"; there are models' },
    });
  });

  it('is answered with the name of the graph where it is that of its file', async () => {
    await using client = await TestClient.connect(bundledServer().url, subprotocol);
    expect(await client.request('createAgent', { graphName: 'lamp-switch.json' })).toMatchObject({
      error: { message: expect.stringMatching(/"lamp-switch\.json"; write "lamp-switch", without \.json$/) as unknown },
    });
  });

  it('does not say where the package is installed', async () => {
    await using client = await TestClient.connect(bundledServer().url, subprotocol);
    expect(await client.request('createAgent', { graphName: 'lamp-swich' })).toMatchObject({
      error: {
        code: 3003,
        message: 'the graphs folder has no graph "lamp-swich"; did you mean "lamp-switch"?',
      },
    });
  });
});
