import { describe, expect, it } from 'vitest';
import { clientCode } from '../../../playground/src/app/clientCode.ts';

const options = {
  url: 'ws://127.0.0.1:9100',
  graphName: 'the keeper\'s "lamp"',
  isOnServer: true,
  defaultModelName: '',
  needsToken: false,
};

describe('the client code of the playground', () => {
  it('names a graph of the server, in quotes of the language', () => {
    expect(clientCode('javascript', options)).toContain(`createAgent({ graphName: 'the keeper\\'s "lamp"' })`);
    expect(clientCode('python', options)).toContain('create_agent(graph_name="the keeper\'s \\"lamp\\"")');
  });

  it('reads the file of another graph, names its model, and takes the token from the environment', () => {
    const other = { ...options, graphName: 'mine', isOnServer: false, defaultModelName: 'demo', needsToken: true };
    const javascript = clientCode('javascript', other);
    expect(javascript).toContain(`graph: await readFile('mine.json', 'utf8'), defaultModelName: 'demo' }`);
    expect(javascript).toContain(`connect('ws://127.0.0.1:9100', { token: process.env.TURNGRAPH_TOKEN })`);
    const python = clientCode('python', other);
    expect(python).toContain('graph=json.loads(Path("mine.json").read_text("utf-8")), default_model_name="demo")');
    expect(python).toContain('token=os.environ["TURNGRAPH_TOKEN"]');
    expect(python).toMatch(/^import asyncio\nimport json\nimport os\nfrom pathlib import Path\nfrom turngraph import/);
  });
});
