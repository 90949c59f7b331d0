// Generates the static protobuf codec: reflection needs Function(), which a page's Content-Security-Policy may forbid.
import { promisify } from 'node:util';
import pbjs from 'protobufjs-cli/pbjs.js';

const excluded = ['create', 'verify', 'convert', 'delimited', 'service', 'typeurl', 'comments', 'beautify'];

/** The text of src/protocol/codec/frames.static.gen.ts. */
export async function staticCodec(protoFile) {
  const flags = excluded.map((part) => `--no-${part}`);
  const code = await promisify(pbjs.main)(['-t', 'static', '--root', 'turngraph', ...flags, protoFile]);
  if (/\beval\b|\bFunction\b/.test(code)) throw new Error('the generated codec would need unsafe-eval');
  // By default the last member of a oneof unsets those before it. Kept, they are found and refused.
  const keepingRivals = code.replaceAll(/^\s*m\.\w+ = "\w+";\n/gm, '');
  if (keepingRivals === code) throw new Error('the generated codec chooses the member of a oneof in an unknown way');
  return `// GENERATED from proto/turngraph/v1/wire.proto by npm run gen. Do not edit.
// @ts-nocheck
import $protobuf from 'protobufjs/minimal.js';
import type { Reader, Writer } from 'protobufjs/minimal.js';

${keepingRivals.replaceAll(/^\s+/gm, '')}

/** One message in protobuf's binary form: encode reads plain objects with enums as numbers, decode leaves defaults on a prototype. */
export interface StaticMessage {
  encode(message: object, writer: Writer): Writer;
  decode(reader: Reader): object;
}

/** The two envelopes. */
export const envelopes: { readonly ClientFrame: StaticMessage; readonly ServerFrame: StaticMessage } = $root.turngraph.v1;
`;
}
