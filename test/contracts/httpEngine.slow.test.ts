import { afterAll, beforeAll } from 'vitest';
import { httpEngine } from '../../src/inference/remote/engine.ts';
import { startLlamaServer, type TestLlamaServer } from '../helpers/inference/llamaServer.ts';
import { engineContract } from './engine.ts';

let server: TestLlamaServer;
beforeAll(async () => {
  server = await startLlamaServer();
});
afterAll(() => server[Symbol.asyncDispose]());

engineContract({
  name: 'http',
  open: () =>
    httpEngine({
      remote: {
        api: 'llama-server',
        baseUrls: [server.url],
        model: undefined,
        apiKeyEnv: undefined,
        templateFile: undefined,
      },
    }),
  file: '',
  long: 'Tell me a long story about the sea, the wind and the old house.',
  rounds: 4,
});
