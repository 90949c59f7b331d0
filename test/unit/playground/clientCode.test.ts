import { access } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { clientLanguages, type ClientCodeOptions } from '../../../playground/src/app/clientCode.ts';

const options = {
  url: 'ws://127.0.0.1:9100',
  graphName: 'the keeper\'s "lamp"',
  isOnServer: true,
  defaultModelName: '',
  needsToken: false,
  message: 'Hello!',
};

const clientCode = (id: string, task: ClientCodeOptions): string | undefined =>
  clientLanguages.find((language) => language.id === id)?.write(task);

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

  it('sends the message with the escapes of each language', () => {
    const message = 'Say "it\'s\u2028late"\n\\o/';
    for (const { id, write } of clientLanguages) {
      const inQuotes =
        id === 'javascript' ? `'Say "it\\'s\\u2028late"\\n\\\\o/'` : '"Say \\"it\'s\\u2028late\\"\\n\\\\o/"';
      expect(write({ ...options, message })).toContain(inQuotes);
    }
  });

  it('reads the file of another graph in GDScript and C#', () => {
    const other = { ...options, graphName: 'mine', isOnServer: false, defaultModelName: 'demo', needsToken: true };
    const gdScript = clientCode('gdscript', other);
    expect(gdScript).toContain('\tfile.open("res://mine.json", File.READ)\n');
    expect(gdScript).toContain('create_agent({"graphJson": file.get_as_text(), "defaultModelName": "demo"})');
    const cSharp = clientCode('csharp', other);
    expect(cSharp).toContain('{ "graphJson", File.ReadAllText("mine.json") }, { "defaultModelName", "demo" } }');
    expect(cSharp).toContain('Environment.GetEnvironmentVariable("TURNGRAPH_TOKEN")');
  });

  it('names guides that the package has', async () => {
    for (const { guide } of clientLanguages)
      await expect(access(new URL(`../../../${guide}`, import.meta.url))).resolves.toBeUndefined();
  });
});
