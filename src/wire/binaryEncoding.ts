import protobuf from 'protobufjs/minimal.js';
import { malformed, type FieldEncoding } from './frameReader.ts';
import type { Fields } from './messageShape.ts';

/** Parts of a frame as the generated protobuf code decodes them: scalars have their types by then. */
export const binaryEncoding: FieldEncoding = {
  fields: (_, value) => value as Fields,

  // A field of a known number whose wire type is wrong lands here too.
  unknown(_, value, path) {
    const [stray] = (value as { readonly $unknowns?: readonly Uint8Array[] }).$unknowns ?? [];
    if (stray === undefined) return undefined;
    const tag = protobuf.Reader.create(stray).uint32();
    return { place: `field ${tag >>> 3} of wire type ${tag & 7}${path && ` in ${path}`}`, hint: '' };
  },

  list: (value) => value as readonly unknown[],

  // Without a prototype "__proto__" is a key like any other, and no key is found that nobody gave.
  map: (value) => Object.setPrototypeOf(value, null) as Readonly<Record<string, string>>,

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
