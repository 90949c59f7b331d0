// npm run gen: writes generated files from their single sources. `proto` needs only wire.proto, `clients` the
// scenarios of their tests, `graphs` and `models` the built server.
// usage: gen.mjs [proto] [clients] [graphs] [models] [--check]; with --check nothing is written, and the exit code is 1 when a file is stale.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import prettier from 'prettier';
import { casesSchemaText } from './gen/casesSchema.mjs';
import { clientPage } from './gen/clientTable.mjs';
import { frameTypes } from './gen/frameTypes.mjs';
import { graphSchemaText, nodeReference } from './gen/graphDocs.mjs';
import { modelsSchemaText } from './gen/modelsSchema.mjs';
import { staticCodec } from './gen/staticCodec.mjs';

const root = new URL('..', import.meta.url);
const proto = fileURLToPath(new URL('proto/turngraph/v1/wire.proto', root));
const pretty = async (text, parser) => {
  const options = await prettier.resolveConfig(fileURLToPath(new URL(parser === 'json' ? 'a.json' : 'a.md', root)));
  return prettier.format(await text, { ...options, parser });
};

const outputs = {
  proto: {
    'src/protocol/frames.gen.ts': () => frameTypes(proto),
    'src/protocol/codec/frames.static.gen.ts': () => staticCodec(proto),
  },
  clients: {
    'docs/clients.md': () => pretty(clientPage(), 'markdown'),
  },
  graphs: {
    'graphs/graph.schema.json': () => pretty(graphSchemaText(), 'json'),
    'graphs/tests/cases.schema.json': () => pretty(casesSchemaText(), 'json'),
    'graphs/README.md': () => pretty(nodeReference(), 'markdown'),
  },
  models: {
    'models.schema.json': () => pretty(modelsSchemaText(), 'json'),
  },
};

const requested = process.argv.slice(2).filter((word) => word in outputs);
const check = process.argv.includes('--check');
for (const name of requested.length > 0 ? requested : Object.keys(outputs)) {
  for (const [path, make] of Object.entries(outputs[name])) await write(path, await make());
}

async function write(path, text) {
  const url = new URL(path, root);
  if (existsSync(url) && readFileSync(url, 'utf8') === text) return;
  if (!check) return writeFileSync(url, text);
  console.error(`${path} is stale: run npm run gen`);
  process.exitCode = 1;
}
