import type { GraphTool } from '../document/graphDocument.ts';
import type { ClientCodeOptions } from './clientCode.ts';

/** A string in double quotes. C# takes some of the characters that JSON leaves as they are for ends of lines. */
const quoted = (text: string): string =>
  JSON.stringify(text).replace(/[\u007f-\u009f\u2028\u2029]/g, (character) => {
    const code = character.charCodeAt(0).toString(16).padStart(4, '0');
    return `\\u${code}`;
  });

const singleQuoted = (text: string): string =>
  `'${quoted(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;

const functionsNote = 'The functions of the tools. A turn that waits for results gets what they return.';
const namesNote = 'The graph only names these tools. Say what they do, and add their parameters: the model reads it.';
const description = 'Say here what it does.';

const isNamed = (tool: GraphTool): boolean => tool.isNamed;

/** The tools with names of functions, each once. */
function withFunctionNames(tools: readonly GraphTool[], nameOf: (name: string) => string) {
  const taken = new Set<string>();
  return tools.map((tool) => {
    let id = nameOf(tool.name.replaceAll(/\W/g, '_'));
    while (taken.has(id)) id += '_';
    taken.add(id);
    return { ...tool, id };
  });
}

/** Where a script runs: expressions and statements in its own words. */
interface ScriptPlace {
  readonly quote: (text: string) => string;
  readonly token: string;
  readonly read: (file: string) => string;
  readonly onText: string;
  readonly showCall: (name: string) => string;
}

/** A script without its imports. @param defined tools of `defineTool` in place of functions. */
function script(options: ClientCodeOptions, defined: readonly GraphTool[], place: ScriptPlace): string {
  const { url, graphName, isOnServer, defaultModelName, needsToken, message } = options;
  const { quote } = place;
  const functions = defined.length > 0 ? [] : options.tools;
  const declared = functions.filter(isNamed);
  const run = (name: string, indent: string): string =>
    `(args) => {\n${indent}  ${place.showCall(name)};\n${indent}  return 'ok';\n${indent}}`;
  const facts = (name: string): readonly string[] => [`name: ${quote(name)}`, `description: ${quote(description)}`];
  const constant = (note: string, name: string, brackets: '{}' | '[]', entries: readonly string[]): string => {
    const [open, close] = brackets;
    const lines = entries.map((entry) => `  ${entry},\n`).join('');
    return entries.length === 0 ? '' : `// ${note}\nconst ${name} = ${open}\n${lines}${close};\n\n`;
  };
  const definition = ({ name }: GraphTool): string =>
    `defineTool({\n    ${[...facts(name), `run: ${run(name, '    ')}`].join(',\n    ')},\n  })`;
  // In brackets, __proto__ is a name as all others.
  const member = ({ name }: GraphTool): string =>
    `${/^[a-z]\w*$/i.test(name) ? name : `[${quote(name)}]`}: ${run(name, '  ')}`;
  const fields = [
    isOnServer ? `graphName: ${quote(graphName)}` : 'graph',
    ...(defaultModelName === '' ? [] : [`defaultModelName: ${quote(defaultModelName)}`]),
    ...(defined.length > 0 ? ['tools'] : declared.length > 0 ? ['tools: declarations'] : []),
  ];
  return [
    constant(namesNote, 'tools', '[]', defined.map(definition)),
    constant(
      namesNote,
      'declarations',
      '[]',
      declared.map(({ name }) => `{ ${facts(name).join(', ')} }`),
    ),
    constant(functionsNote, 'tools', '{}', functions.map(member)),
    `const client = await connect(${quote(url)}${needsToken ? `, { token: ${place.token} }` : ''});\n`,
    isOnServer ? '' : `const graph = ${place.read(`${graphName}.json`)};\n`,
    `const agent = await client.createAgent({ ${fields.join(', ')} });\n`,
    `await agent.send(${quote(message)}, { ${functions.length > 0 ? 'tools, ' : ''}onText: ${place.onText} });\n`,
    'await client.close();\n',
  ].join('');
}

/** A program of Node. A graph that declares no tool itself gets those of `defineTool`. */
export function javascript(options: ClientCodeOptions): string {
  const { isOnServer, tools } = options;
  const defined = tools.every(isNamed) ? tools : [];
  const program = script(options, defined, {
    quote: singleQuoted,
    token: 'process.env.TURNGRAPH_TOKEN',
    read: (file) => `await readFile(${singleQuoted(file)}, 'utf8')`,
    onText: '(text) => process.stdout.write(text)',
    showCall: (name) => `console.log(${singleQuoted(name)}, args)`,
  });
  return `${isOnServer ? '' : "import { readFile } from 'node:fs/promises';\n"}import { connect${defined.length > 0 ? ', defineTool' : ''} } from 'turngraph/client';

${program}`;
}

/** A page with the client that needs no build. */
export function page(options: ClientCodeOptions): string {
  // Else a text could end the script.
  const quote = (text: string): string => singleQuoted(text).replaceAll('<', '\\u003c');
  const program = script(options, [], {
    quote,
    token: "new URLSearchParams(location.search).get('token')",
    read: (file) => `await (await fetch(${quote(encodeURIComponent(file))})).text()`,
    onText: 'write',
    showCall: (name) => `write(${quote(`${name} `)} + JSON.stringify(args) + '\\n')`,
  });
  return `<!doctype html>
<meta charset="utf-8" />
<pre></pre>
<script type="module">
  import { connect } from './turngraph.js';

  const write = (text) => document.querySelector('pre').append(text);

${program.replaceAll(/^(?=.)/gm, '  ')}</script>
`;
}

/** What a function of the program in Python cannot be called: keywords, and the names that the program uses. */
const pythonNames = new Set(
  (
    'False None True and as assert async asyncio await break class connect continue def del elif else except finally for ' +
    'from global if import in is isinstance json lambda main nonlocal not or os pass Path print raise return Text tool try ' +
    'while with yield'
  ).split(' '),
);

/** A program of Python. Its functions are coroutines: plain ones run in threads, whose lines of output could mix. */
export function python(options: ClientCodeOptions): string {
  const { url, graphName, isOnServer, defaultModelName, needsToken, message } = options;
  const tools = withFunctionNames(options.tools, (name) => (pythonNames.has(name) ? `${name}_` : name));
  const named = tools.filter(isNamed);
  const define = ({ name, id }: (typeof tools)[number]): string => {
    const body = `async def ${id}():\n    """${description}"""\n    print(${quoted(name)})\n    return "ok"\n`;
    return id === name ? `@tool\n${body}\n` : `${body}${id}.__name__ = ${quoted(name)}\n${id} = tool(${id})\n\n`;
  };
  const functions = tools
    .filter((tool) => !isNamed(tool))
    .map(({ name, id }) => `async def ${id}(**arguments):\n    print(${quoted(name)}, arguments)\n    return "ok"\n\n`);
  const fields = [
    isOnServer
      ? `graph_name=${quoted(graphName)}`
      : `graph=json.loads(Path(${quoted(`${graphName}.json`)}).read_text("utf-8"))`,
    ...(defaultModelName === '' ? [] : [`default_model_name=${quoted(defaultModelName)}`]),
    ...(named.length === 0 ? [] : [`tools=[${named.map(({ id }) => id).join(', ')}]`]),
  ];
  const table = tools.map(({ name, id }) => `${quoted(name)}: ${id}`).join(', ');
  const imports = ['asyncio', ...(isOnServer ? [] : ['json']), ...(needsToken ? ['os'] : [])];
  return `${imports.map((name) => `import ${name}\n`).join('')}${isOnServer ? '' : 'from pathlib import Path\n'}from turngraph import Text, connect${named.length > 0 ? ', tool' : ''}

${named.length > 0 ? `# ${namesNote}\n${named.map(define).join('')}` : ''}${functions.length > 0 ? `# ${functionsNote}\n${functions.join('')}` : ''}async def main():
    async with connect(${quoted(url)}${needsToken ? ', token=os.environ["TURNGRAPH_TOKEN"]' : ''}) as client:
        agent = await client.create_agent(${fields.join(', ')})
        async for event in agent.send(${quoted(message)}${functions.length > 0 ? `, tools={${table}}` : ''}):
            if isinstance(event, Text):
                print(event.text, end="", flush=True)

asyncio.run(main())
`;
}

export function gdScript(options: ClientCodeOptions): string {
  const { url, graphName, isOnServer, defaultModelName, needsToken, message } = options;
  const tools = withFunctionNames(options.tools, (name) => `_run_${name}`);
  const named = tools.filter(isNamed);
  const fields = [
    isOnServer ? `"graphName": ${quoted(graphName)}` : '"graph": file.get_as_text()',
    ...(defaultModelName === '' ? [] : [`"defaultModelName": ${quoted(defaultModelName)}`]),
    ...(named.length === 0 ? [] : ['"tools": declarations']),
  ];
  const declarations = named.map(({ name }) => `{"name": ${quoted(name)}, "description": ${quoted(description)}}`);
  const table = tools.map(({ name, id }) => `${quoted(name)}: funcref(self, ${quoted(id)})`).join(', ');
  const token = needsToken ? ', OS.get_environment("TURNGRAPH_TOKEN")' : '';
  const read = `\tvar file = File.new()\n\tfile.open(${quoted(`res://${graphName}.json`)}, File.READ)\n`;
  const refuse = (answer: string): string => `\tif not ${answer}.ok:\n\t\tpush_error(${answer}.message)\n\t\treturn\n`;
  const functions = tools.map(
    ({ name, id }) => `\nfunc ${id}(arguments):\n\tprint(${quoted(`${name} `)}, arguments)\n\treturn "ok"\n`,
  );
  return `extends Node

var client = load("res://turngraph.gd").new()

func _ready():
\tadd_child(client)
\tvar connected = yield(client.connect_to_server(${quoted(url)}${token}), "completed")
${refuse('connected')}${isOnServer ? '' : read}${declarations.length > 0 ? `\t# ${namesNote}\n\tvar declarations = [${declarations.join(', ')}]\n` : ''}\tvar created = yield(client.create_agent({${fields.join(', ')}}), "completed")
${refuse('created')}\tcreated.agent.connect("text", self, "_show_text")
${tools.length > 0 ? `\tvar tools = {${table}}\n` : ''}\tvar turn = yield(created.agent.send(${quoted(message)}${tools.length > 0 ? ', {}, tools' : ''}), "completed")
\tif not turn.ok:
\t\tpush_error(turn.message)

func _show_text(piece):
\tprintraw(piece)
${tools.length > 0 ? `\n# ${functionsNote}${functions.join('')}` : ''}`;
}

export function cSharp({
  url,
  graphName,
  isOnServer,
  defaultModelName,
  needsToken,
  message,
  tools,
}: ClientCodeOptions): string {
  const named = tools.filter(isNamed);
  const fields = [
    isOnServer
      ? `{ "graphName", ${quoted(graphName)} }`
      : `{ "graph", File.ReadAllText(${quoted(`${graphName}.json`)}) }`,
    ...(defaultModelName === '' ? [] : [`{ "defaultModelName", ${quoted(defaultModelName)} }`]),
    ...(named.length === 0 ? [] : ['{ "tools", declarations }']),
  ];
  const declare = ({ name }: GraphTool): string =>
    `            new JsonObject { { "name", ${quoted(name)} }, { "description", ${quoted(description)} } },\n`;
  const declarations = `        // ${namesNote}\n        var declarations = new[]\n        {\n${named.map(declare).join('')}        };\n`;
  const run = ({ name }: GraphTool): string => `            { ${quoted(name)}, call =>
                {
                    Console.WriteLine(${quoted(`${name} `)} + call.ArgumentsJson);
                    return "ok";
                }
            },
`;
  const table = `        // ${functionsNote}\n        var tools = new ToolTable\n        {\n${tools.map(run).join('')}        };\n`;
  const token = needsToken ? ', Environment.GetEnvironmentVariable("TURNGRAPH_TOKEN")' : '';
  return `using System;
${isOnServer ? '' : 'using System.IO;\n'}using System.Threading.Tasks;
using Turngraph;

public static class Example
{
    public static void Main() => RunAsync().GetAwaiter().GetResult();

    private static async Task RunAsync()
    {
${named.length > 0 ? declarations : ''}${tools.length > 0 ? table : ''}        using (var client = await TurngraphClient.ConnectAsync(${quoted(url)}${token}))
        {
            var agent = await client.CreateAgentAsync(new JsonObject { ${fields.join(', ')} });
            await agent.SendAsync(${quoted(message)}, piece => Console.Write(piece)${tools.length > 0 ? ', tools: tools' : ''});
        }
    }
}
`;
}
