// Writes what follows from the proto: src/frames.gen.ts (types, shapes, codes) and src/wire/frames.static.gen.ts (the binary codec).
// With --check it writes nothing and exits 1 when a file is stale.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { frameTypes } from './gen/frameTypes.mjs';
import { staticCodec } from './gen/staticCodec.mjs';

const root = new URL('..', import.meta.url);
const proto = fileURLToPath(new URL('proto/turngraph/v1/wire.proto', root));
const check = process.argv.includes('--check');

const outputs = {
  'src/frames.gen.ts': frameTypes(proto),
  'src/wire/frames.static.gen.ts': await staticCodec(proto),
};

let stale = 0;
for (const [path, text] of Object.entries(outputs)) {
  const url = new URL(path, root);
  const before = existsSync(url) ? readFileSync(url, 'utf8') : undefined;
  if (before === text) continue;
  if (check) {
    console.error(`${path} is stale: run npm run gen`);
    stale++;
  } else writeFileSync(url, text);
}
process.exitCode = stale ? 1 : 0;
