/** What the code of a client is written for. */
export interface ClientCodeOptions {
  /** The address of the server's WebSocket, without a slash at its end. */
  readonly url: string;
  readonly graphName: string;
  /** Whether the server has this graph by its name, as it is on the page. Otherwise the code reads its file. */
  readonly isOnServer: boolean;
  /** The model of a graph that names none. */
  readonly defaultModelName: string;
  readonly needsToken: boolean;
  /** The message that the program sends. */
  readonly message: string;
}

/** A language that the documentation has a client for. */
export interface ClientLanguage {
  readonly id: string;
  readonly label: string;
  /** What a program needs besides the file of the graph. */
  readonly needs: string;
  /** Where the package describes the client. */
  readonly guide: string;
  /** Writes a whole program that talks to the graph. */
  readonly write: (options: ClientCodeOptions) => string;
}

/** The languages of the tabs. */
export const clientLanguages: readonly ClientLanguage[] = [
  {
    id: 'javascript',
    label: 'JavaScript',
    needs: 'Node 20 or later and the package turngraph; the program is a module (.mjs)',
    guide: 'docs/client.md',
    write: javascript,
  },
  {
    id: 'python',
    label: 'Python',
    needs: 'Python 3.10 or later, the library websockets, and turngraph.py beside the program',
    guide: 'examples/python',
    write: python,
  },
  {
    id: 'gdscript',
    label: 'GDScript',
    needs: 'Godot 3, and turngraph.gd in the project',
    guide: 'examples/godot3',
    write: gdScript,
  },
  {
    id: 'csharp',
    label: 'C#',
    needs: 'C# 7.2 or later, and Turngraph.cs; in Unity, RunAsync becomes Start of a component',
    guide: 'examples/unity',
    write: cSharp,
  },
];

/** A string in double quotes. C# takes some of the characters that JSON leaves as they are for ends of lines. */
const quoted = (text: string): string =>
  JSON.stringify(text).replace(/[\u007f-\u009f\u2028\u2029]/g, (character) => {
    const code = character.charCodeAt(0).toString(16).padStart(4, '0');
    return `\\u${code}`;
  });

const singleQuoted = (text: string): string =>
  `'${quoted(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;

function javascript({ url, graphName, isOnServer, defaultModelName, needsToken, message }: ClientCodeOptions): string {
  const graph = isOnServer
    ? `graphName: ${singleQuoted(graphName)}`
    : `graph: await readFile(${singleQuoted(`${graphName}.json`)}, 'utf8')`;
  const model = defaultModelName === '' ? '' : `, defaultModelName: ${singleQuoted(defaultModelName)}`;
  return `${isOnServer ? '' : "import { readFile } from 'node:fs/promises';\n"}import { connect } from 'turngraph/client';

const client = await connect(${singleQuoted(url)}${needsToken ? ', { token: process.env.TURNGRAPH_TOKEN }' : ''});
const agent = await client.createAgent({ ${graph}${model} });
const turn = agent.send(${singleQuoted(message)}, {
  onText: (text) => process.stdout.write(text),
  onCall: ({ toolName, arguments: values }) => console.log('call', toolName, values),
});
console.log((await turn).path);
await client.close();
`;
}

function python({ url, graphName, isOnServer, defaultModelName, needsToken, message }: ClientCodeOptions): string {
  const graph = isOnServer
    ? `graph_name=${quoted(graphName)}`
    : `graph=json.loads(Path(${quoted(`${graphName}.json`)}).read_text("utf-8"))`;
  const model = defaultModelName === '' ? '' : `, default_model_name=${quoted(defaultModelName)}`;
  const imports = ['asyncio', ...(isOnServer ? [] : ['json']), ...(needsToken ? ['os'] : [])];
  return `${imports.map((name) => `import ${name}\n`).join('')}${isOnServer ? '' : 'from pathlib import Path\n'}from turngraph import Call, Text, connect

async def main():
    async with connect(${quoted(url)}${needsToken ? ', token=os.environ["TURNGRAPH_TOKEN"]' : ''}) as client:
        agent = await client.create_agent(${graph}${model})
        async for event in agent.send(${quoted(message)}):
            match event:
                case Text(text=text): print(text, end="", flush=True)
                case Call(tool_name=tool, arguments=arguments): print(tool, arguments)

asyncio.run(main())
`;
}

function gdScript({ url, graphName, isOnServer, defaultModelName, needsToken, message }: ClientCodeOptions): string {
  const graph = isOnServer ? `"graphName": ${quoted(graphName)}` : '"graphJson": file.get_as_text()';
  const model = defaultModelName === '' ? '' : `, "defaultModelName": ${quoted(defaultModelName)}`;
  const token = needsToken ? ', OS.get_environment("TURNGRAPH_TOKEN")' : '';
  const read = `\tvar file = File.new()\n\tfile.open(${quoted(`res://${graphName}.json`)}, File.READ)\n`;
  return `extends Node

var client = load("res://turngraph.gd").new()

func _ready():
\tadd_child(client)
\tclient.start(${quoted(url)}${token})
\tyield(client.wait_until_ready(), "completed")
${isOnServer ? '' : read}\tvar created = yield(client.create_agent({${graph}${model}}), "completed")
\tif not created.ok:
\t\tpush_error(created.message)
\t\treturn
\tcreated.agent.connect("text", self, "_show_text")
\tcreated.agent.connect("called", self, "_run_call")
\tyield(created.agent.send(${quoted(message)}), "completed")

func _show_text(piece):
\tprint(piece)

func _run_call(call):
\tprint(call.toolName, " ", call.typedArgumentsJson)
`;
}

function cSharp({ url, graphName, isOnServer, defaultModelName, needsToken, message }: ClientCodeOptions): string {
  const graph = isOnServer
    ? `{ "graphName", ${quoted(graphName)} }`
    : `{ "graphJson", File.ReadAllText(${quoted(`${graphName}.json`)}) }`;
  const model = defaultModelName === '' ? '' : `, { "defaultModelName", ${quoted(defaultModelName)} }`;
  const token = needsToken ? ', Environment.GetEnvironmentVariable("TURNGRAPH_TOKEN")' : '';
  return `using System;
${isOnServer ? '' : 'using System.IO;\n'}using System.Threading.Tasks;
using Turngraph;

public static class Example
{
    public static void Main() => RunAsync().GetAwaiter().GetResult();

    private static async Task RunAsync()
    {
        using (var client = new TurngraphClient(${quoted(url)}${token}))
        {
            await client.ReadyAsync();
            var agent = await client.CreateAgentAsync(new JsonObject { ${graph}${model} });
            await agent.SendAsync(${quoted(message)},
                onText: piece => Console.Write(piece),
                onCall: call => Console.WriteLine(call.ToolName + " " + call.ArgumentsJson));
        }
    }
}
`;
}
