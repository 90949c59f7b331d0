// Generates TypeScript types, JSON shapes and error codes from the proto.
import protobuf from 'protobufjs';
import { readFileSync } from 'node:fs';

const scalars = { string: 'string', bool: 'boolean', uint32: 'number', double: 'number' };

/** The text of src/protocol/frames.gen.ts. */
export function frameTypes(protoFile) {
  const { root } = protobuf.parse(readFileSync(protoFile, 'utf8'), { alternateCommentMode: true, keepCase: false });
  const space = root.resolveAll().lookup('turngraph.v1');
  const messages = space.nestedArray.filter((one) => one instanceof protobuf.Type);
  const envelopes = messages.filter((message) => message.oneofs?.body);
  const plain = messages.filter((message) => !envelopes.includes(message));
  return (
    [
      '// GENERATED from proto/turngraph/v1/wire.proto by npm run gen. Do not edit.',
      ...plain.map(interfaceOf),
      ...envelopes.map(envelopeOf),
      responsesOf(...envelopes),
      shapesOf(messages),
      codesOf(space.lookupEnum('ErrorResponse.Code')),
    ].join('\n\n') + '\n'
  );
}

const doc = (comment, indent = '') =>
  comment ? `${indent}/** ${comment.replaceAll('\n', `\n${indent} * `)} */\n` : '';

function typeOf(field) {
  if (field.map) return `Readonly<Record<${scalars[field.keyType]}, ${scalars[field.type]}>>`;
  const one = scalars[field.type] ?? enumOf(field) ?? field.resolvedType.name;
  if (field.repeated) return `readonly ${one.includes('|') ? `(${one})` : one}[]`;
  return one;
}

const enumOf = (field) =>
  field.resolvedType instanceof protobuf.Enum
    ? Object.keys(field.resolvedType.values)
        .map((name) => `'${name}'`)
        .join(' | ')
    : undefined;

// The codecs use an enum's number as the index of its name in this list.
function namesInOrder(one) {
  const names = Object.keys(one.values);
  if (names.some((name, index) => one.values[name] !== index))
    throw new Error(`${one.name} must count from 0 without gaps`);
  return names;
}

function interfaceOf(message) {
  const fields = message.fieldsArray.map((field) => {
    const mark = field.partOf ? '?' : '';
    const nullable = field.resolvedType instanceof protobuf.Type && !field.repeated ? ' | null' : '';
    return `${doc(field.comment, '  ')}  readonly ${field.name}${mark}: ${typeOf(field)}${nullable};\n`;
  });
  return `${doc(message.comment)}export interface ${message.name} {\n${fields.join('')}}`;
}

function envelopeOf(message) {
  const head = message.fieldsArray.filter((field) => !field.partOf);
  const bodies = message.oneofs.body.fieldsArray;
  return [
    `/** The bodies of a ${message.name}, by the name of their field. */\nexport interface ${message.name}Bodies {\n${bodies
      .map((field) => `  readonly ${field.name}: ${field.type};\n`)
      .join('')}}`,
    `${doc(message.comment)}export type ${message.name} = {\n  readonly [K in keyof ${message.name}Bodies]: { ${head
      .map((field) => `readonly ${field.name}: ${typeOf(field)}`)
      .join(
        '; ',
      )}; readonly body: K } & {\n    readonly [P in K]: ${message.name}Bodies[P];\n  };\n}[keyof ${message.name}Bodies];`,
  ].join('\n\n');
}

/** Reads `-> earlier*, earlier*, final` after each request of the ClientFrame. */
function responsesOf(clientFrame, serverFrame) {
  const known = new Map(serverFrame.oneofs.body.fieldsArray.map((field) => [snakeCase(field.name), field.name]));
  const lines = clientFrame.oneofs.body.fieldsArray.map(({ name, comment }) => {
    const [, list] = /^-> ((?:\w+\*, )*\w+)$/.exec(comment ?? '') ?? [];
    const bodies = list?.split(', ').map((one) => known.get(one.replace('*', '')));
    if (!bodies || bodies.includes(undefined))
      throw new Error(`${name} needs a comment such as "-> ack", not ${comment}`);
    const quoted = bodies.map((body) => `'${body}'`);
    return `  ${name}: { final: ${quoted.at(-1)}, earlier: [${quoted.slice(0, -1).join(', ')}] },\n`;
  });
  return `/** The bodies that answer each request: the final response, which can also be an error, and those that come before it. */
export const responses = {\n${lines.join('')}} as const satisfies {
  readonly [Body in keyof ${clientFrame.name}Bodies]: {
    readonly final: keyof ${serverFrame.name}Bodies;
    readonly earlier: readonly (keyof ${serverFrame.name}Bodies)[];
  };
};`;
}

const snakeCase = (name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function shapesOf(messages) {
  const lines = messages.map((message) => {
    const fields = message.fieldsArray.map((field) => {
      const kind = field.map
        ? { map: field.type }
        : scalars[field.type]
          ? { scalar: field.type }
          : field.resolvedType instanceof protobuf.Enum
            ? { enum: namesInOrder(field.resolvedType) }
            : { message: field.resolvedType.name };
      const shape = {
        ...kind,
        ...(field.repeated && !field.map && { repeated: true }),
        ...(field.partOf && { oneof: field.partOf.name }),
      };
      return `    ${field.name}: ${JSON.stringify(shape)},\n`;
    });
    return `  ${message.name}: {\n${fields.join('')}  },\n`;
  });
  return `/** What a field of a message holds. */
export type FieldShape = {
  readonly repeated?: boolean;
  /** The oneof that the field is a member of. */
  readonly oneof?: string;
} & (
  | { readonly scalar: 'string' | 'bool' | 'uint32' | 'double' }
  | { readonly enum: readonly string[] }
  | { readonly message: keyof typeof shapes }
  | { readonly map: 'string' }
);

/** The fields of every message, in the proto's order. */
export const shapes = {\n${lines.join('')}} as const;`;
}

const codesOf = (codes) =>
  `/** The number of every error of the protocol, by its name. */
export const codes = {\n${Object.entries(codes.values)
    .filter(([, number]) => number !== 0)
    .map(([name, number]) => `  ${name}: ${number},\n`)
    .join('')}} as const;

/** The name of an error of the protocol. */
export type CodeName = keyof typeof codes;`;
