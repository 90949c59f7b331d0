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
  tools: [],
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
    expect(javascript).toContain(`graph = await readFile('mine.json', 'utf8');`);
    expect(javascript).toContain(`createAgent({ graph, defaultModelName: 'demo' })`);
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
        id === 'javascript' || id === 'page'
          ? `'Say "it\\'s\\u2028late"\\n\\\\o/'`
          : '"Say \\"it\'s\\u2028late\\"\\n\\\\o/"';
      expect(write({ ...options, message })).toContain(inQuotes);
    }
  });

  it('reads the file of another graph in GDScript and C#', () => {
    const other = { ...options, graphName: 'mine', isOnServer: false, defaultModelName: 'demo', needsToken: true };
    const gdScript = clientCode('gdscript', other);
    expect(gdScript).toContain('\tfile.open("res://mine.json", File.READ)\n');
    expect(gdScript).toContain('create_agent({"graph": file.get_as_text(), "defaultModelName": "demo"})');
    const cSharp = clientCode('csharp', other);
    expect(cSharp).toContain('{ "graph", File.ReadAllText("mine.json") }, { "defaultModelName", "demo" } }');
    expect(cSharp).toContain('Environment.GetEnvironmentVariable("TURNGRAPH_TOKEN")');
  });

  it('has a function for each tool, whatever its name', () => {
    const tools = ['print', 'a.b', 'a_b', '__proto__'].map((name) => ({ name, isNamed: false }));
    const python = clientCode('python', { ...options, tools });
    for (const name of ['print_', 'a_b', 'a_b_', '__proto__'])
      expect(python).toContain(`async def ${name}(**arguments):`);
    expect(python).toContain('tools={"print": print_, "a.b": a_b, "a_b": a_b_, "__proto__": __proto__}');
    expect(clientCode('javascript', { ...options, tools })).toContain("  ['__proto__']: (args) => {");
    expect(clientCode('gdscript', { ...options, tools })).toContain('"a_b": funcref(self, "_run_a_b_")');
  });

  it('defines the tools that a graph only names, and declares them where there are others, too', () => {
    const bell = { name: 'ring_bell', isNamed: true };
    const named = { ...options, tools: [bell] };
    expect(clientCode('javascript', named)).toContain("  defineTool({\n    name: 'ring_bell',");
    expect(clientCode('python', named)).toContain('@tool\nasync def ring_bell():');
    const mixed = { ...options, tools: [bell, { name: 'wait', isNamed: false }] };
    expect(clientCode('javascript', mixed)).toContain("  { name: 'ring_bell', description: ");
    expect(clientCode('javascript', mixed)).toContain('  wait: (args) => {');
  });

  it('ends no script of a page in a text', () => {
    expect(clientCode('page', { ...options, message: '</script>' })?.split('</script>')).toHaveLength(2);
  });

  it('names guides that the package has', async () => {
    for (const { guide } of clientLanguages)
      await expect(access(new URL(`../../../${guide}`, import.meta.url))).resolves.toBeUndefined();
  });
});
