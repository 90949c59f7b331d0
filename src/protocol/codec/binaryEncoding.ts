import protobuf from 'protobufjs/minimal.js';
import { malformed, type FieldEncoding } from './frameReader.ts';
import type { Fields } from './messageShape.ts';

/** The protobuf encoding of frame fields, as the generated code decodes them: scalars have their types already. */
export const binaryEncoding: FieldEncoding = {
  isSet: (value) => value !== undefined && value !== null,

  fields: (_, value) => value as Fields,

  // Includes a field with a known number and a wrong wire type.
  unknown(_, value, path) {
    const [unknownField] = (value as { readonly $unknowns?: readonly Uint8Array[] }).$unknowns ?? [];
    if (unknownField === undefined) return undefined;
    const tag = protobuf.Reader.create(unknownField).uint32();
    return { place: `field ${tag >>> 3} of wire type ${tag & 7}${path && ` in ${path}`}`, hint: '' };
  },

  list: (value) => value as readonly unknown[],

  // Without a prototype, "__proto__" is a key like any other, and no inherited key is found.
  map: (value) => Object.setPrototypeOf(value, null) as Readonly<Record<string, string>>,

  isUnknownEnum: (names, value) => names[value as number] === undefined,

  enum(names, value, path) {
    const name = names[value as number];
    if (name !== undefined) return name;
    throw malformed(`${path} must be a number from 0 to ${names.length - 1}, not ${String(value)}`);
  },

  scalars: {
    string: (value) => value as string,
    bool: (value) => value as boolean,
    uint32: (value) => value as number,
    double(value, path) {
      if (Number.isFinite(value)) return value as number;
      throw malformed(`${path} must be a finite number, not ${String(value)}`);
    },
  },
};
