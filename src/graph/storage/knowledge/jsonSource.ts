import { describePointer } from '../../../base/jsonPointer.ts';
import { findDuplicateKeys, findSyntaxError, locateInJson } from '../../../base/jsonLocations.ts';
import { isObject } from '../../../base/jsonTypes.ts';
import type { SchemaError } from '../../../protocol/schema.ts';
import { decodeUtf8 } from '../../../base/filesystem.ts';
import { invalidStorage } from '../invalidStorage.ts';
import { JsonSliceError, sliceJson, type JsonSlice } from './jsonSlices.ts';
import type { Fault } from '../../../protocol/fault.ts';

/** The bytes of a JSON file, whose slices are parsed one by one; its faults have file, line and column. */
export class JsonSource {
  readonly #bytes: Uint8Array;
  readonly #name: string;

  /** @param name its path in messages. */
  constructor(bytes: Uint8Array, name: string) {
    this.#bytes = bytes;
    this.#name = name;
  }

  /** Slices the document. @throws Fault INVALID_STRING_STORAGE_DATA when it is not valid JSON. */
  *slices(lists: readonly string[]): Generator<JsonSlice, void> {
    try {
      yield* sliceJson(this.#bytes, lists);
    } catch (error) {
      if (!(error instanceof JsonSliceError)) throw error;
      throw invalidStorage(`${this.#name}, ${placeText(this.#placeOf(error.offset))}: it ${error.message}`);
    }
  }

  /** Parses a slice. @throws Fault INVALID_STRING_STORAGE_DATA when it is not valid JSON, or has a name twice in one object. */
  parse(slice: JsonSlice): unknown {
    const text = this.#textOf(slice);
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (cause) {
      const { place, why } = findSyntaxError(text) ?? { place: '1:1', why: 'unexpected character' };
      throw invalidStorage(`${this.#name} is not valid JSON at ${this.#inFile(slice, place)}: ${why}`, cause);
    }
    if (countNames(value) === slice.names) return value;
    const [twice] = findDuplicateKeys(text);
    if (!twice) return value;
    const place = this.#inFile(slice, twice.place);
    throw invalidStorage(`${this.#name}, ${place}: the name "${twice.name}" is there twice in one object; remove one`);
  }

  /** The fault for an error in a slice, whose pointer is relative to it. */
  faultIn(slice: JsonSlice, { pointer, message }: SchemaError): Fault {
    const place = this.#inFile(slice, slice.opensList ? '1:1' : locateInJson(this.#textOf(slice)).positionOf(pointer));
    return invalidStorage(`${this.#name}, ${place}: ${subjectOf(slice, pointer)} ${message}`);
  }

  #textOf({ start, end }: JsonSlice): string {
    const text = decodeUtf8(this.#bytes.subarray(start, end));
    if (text !== undefined) return text;
    throw invalidStorage(`${this.#name}, ${placeText(this.#placeOf(start))}: it is not UTF-8; save the file as UTF-8`);
  }

  /** @param place `line:column` in the slice. */
  #inFile(slice: JsonSlice, place: string): string {
    const from = this.#placeOf(slice.start);
    const [line = 1, column = 1] = place.split(':').map(Number);
    return placeText({ line: from.line + line - 1, column: line === 1 ? from.column + column - 1 : column });
  }

  #placeOf(offset: number): Place {
    let [line, lineStart] = [1, 0];
    for (;;) {
      const end = this.#bytes.indexOf(newline, lineStart);
      if (end < 0 || end >= offset) break;
      line++;
      lineStart = end + 1;
    }
    return { line, column: new TextDecoder().decode(this.#bytes.subarray(lineStart, offset)).length + 1 };
  }
}

interface Place {
  readonly line: number;
  readonly column: number;
}

const newline = 0x0a;

const placeText = ({ line, column }: Place): string => `${line}:${column}`;

function subjectOf({ member, key }: JsonSlice, pointer: string): string {
  const names = [member, key ?? ''].filter((name) => name !== '').map((name) => `/${name}`);
  return describePointer(names.join('') + pointer).replace(/^\./, '');
}

function countNames(value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + countNames(item), 0);
  if (!isObject(value)) return 0;
  return Object.values(value).reduce<number>((sum, item) => sum + 1 + countNames(item), 0);
}
