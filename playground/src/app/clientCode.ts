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
}

/** The languages that a client is written in. */
export type ClientLanguage = 'javascript' | 'python';

/** A whole program that talks to the graph: for the clients of docs/client.md and docs/clients/python. */
export const clientCode = (language: ClientLanguage, options: ClientCodeOptions): string =>
  language === 'javascript' ? javascript(options) : python(options);

const quoted = (text: string): string => JSON.stringify(text);

const singleQuoted = (text: string): string =>
  `'${quoted(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;

function javascript({ url, graphName, isOnServer, defaultModelName, needsToken }: ClientCodeOptions): string {
  const graph = isOnServer
    ? `graphName: ${singleQuoted(graphName)}`
    : `graph: await readFile(${singleQuoted(`${graphName}.json`)}, 'utf8')`;
  const model = defaultModelName === '' ? '' : `, defaultModelName: ${singleQuoted(defaultModelName)}`;
  return `${isOnServer ? '' : "import { readFile } from 'node:fs/promises';\n"}import { connect } from 'turngraph/client';

const client = await connect(${singleQuoted(url)}${needsToken ? ', { token: process.env.TURNGRAPH_TOKEN }' : ''});
const agent = await client.createAgent({ ${graph}${model} });
const turn = agent.send('Hello', {
  onText: (text) => process.stdout.write(text),
  onCall: ({ toolName, arguments: values }) => console.log('call', toolName, values),
});
console.log((await turn).path);
await client.close();
`;
}

function python({ url, graphName, isOnServer, defaultModelName, needsToken }: ClientCodeOptions): string {
  const graph = isOnServer
    ? `graph_name=${quoted(graphName)}`
    : `graph=json.loads(Path(${quoted(`${graphName}.json`)}).read_text("utf-8"))`;
  const model = defaultModelName === '' ? '' : `, default_model_name=${quoted(defaultModelName)}`;
  const imports = ['asyncio', ...(isOnServer ? [] : ['json']), ...(needsToken ? ['os'] : [])];
  return `${imports.map((name) => `import ${name}\n`).join('')}${isOnServer ? '' : 'from pathlib import Path\n'}from turngraph import Call, Text, connect

async def main():
    async with connect(${quoted(url)}${needsToken ? ', token=os.environ["TURNGRAPH_TOKEN"]' : ''}) as client:
        agent = await client.create_agent(${graph}${model})
        async for event in agent.send("Hello"):
            match event:
                case Text(text=text): print(text, end="", flush=True)
                case Call(tool_name=tool, arguments=arguments): print(tool, arguments)

asyncio.run(main())
`;
}
