import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { httpEngine } from '../../src/inference/remote/engine.ts';
import { startOpenAiServer, type TestOpenAiServer } from '../helpers/inference/openAiServer.ts';
import { engineContract } from './engine.ts';

let server: TestOpenAiServer;
let folder = '';
beforeAll(async () => {
  server = await startOpenAiServer();
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  await writeFile(join(folder, 'template.jinja'), server.chatTemplate);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

engineContract({
  name: 'http (openai)',
  open: () =>
    httpEngine({
      remote: {
        api: 'openai',
        baseUrls: [server.url],
        model: undefined,
        apiKeyEnv: undefined,
        templateFile: join(folder, 'template.jinja'),
      },
    }),
  file: '',
  long: 'Tell me a long story about the sea, the wind and the old house.',
  rounds: 2,
});
