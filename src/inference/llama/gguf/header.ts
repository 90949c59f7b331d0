export interface TensorInfo {
  readonly name: string;
  readonly dimensions: readonly number[];
  /** A `ggml_type`. */
  readonly type: number;
  /** Bytes from the start of the tensor data. */
  readonly offset: number;
}

/** An array of the metadata that is no vocabulary: of the layers of a model, for example. */
export interface NumberList {
  /** Type of its entries. */
  readonly kind: NumberKind | 'text';
  /** Its entries; none for texts, and for more than `maxListEntries`. */
  readonly numbers: readonly number[];
}

export type ValueKind = NumberKind | 'text' | 'list';

export interface GgufHeader {
  /** Metadata values by key; for an array, the number of its entries. */
  readonly values: ReadonlyMap<string, string | number | boolean>;
  readonly kinds: ReadonlyMap<string, ValueKind>;
  /** The arrays among these values, without those of the tokenizer. */
  readonly lists: ReadonlyMap<string, NumberList>;
  readonly tensors: readonly TensorInfo[];
  /** Whether the vocabulary contains a token twice. */
  readonly hasDuplicateTokens: boolean;
  /** Bytes of UTF-8 texts for which the vocabulary has neither a byte token, such as `<0xF0>`, nor the byte itself. */
  readonly bytesWithoutToken: readonly number[];
}

/** The given bytes end within the header: read more of the file, and parse again. */
export class IncompleteHeader extends Error {}

/**
 * Parses the header of a GGUF file from the file's first bytes. Refuses what node-llama-cpp's own reader lets pass:
 * unknown versions, repeated keys, counts beyond the file.
 * @returns the header, and where it ends.
 * @throws IncompleteHeader when the bytes end within the header; Error with a reason when the header is invalid.
 */
export function parseHeader(bytes: Buffer): GgufHeader & { readonly end: number } {
  const reader = new HeaderReader(bytes);
  if (reader.bytes(4).toString('latin1') !== 'GGUF') throw new Error('it does not begin with GGUF');
  const version = reader.number('u32');
  if (version < 2 || version > 3) throw new Error(`its GGUF version is ${version}, and 2 and 3 are known`);
  const tensorCount = reader.number('u64');
  const valueCount = reader.number('u64');
  const values = new Map<string, string | number | boolean>();
  const kinds = new Map<string, ValueKind>();
  const lists = new Map<string, NumberList>();
  let tokensStart: number | undefined;
  for (let index = 0; index < valueCount; index++) {
    const key = reader.text();
    if (!/^[!-~]+$/.test(key)) throw new Error(`it has an invalid key, ${JSON.stringify(key.slice(0, 40))}`);
    if (values.has(key)) throw new Error(`it has ${key} twice`);
    const kind = reader.kind();
    if (key === 'tokenizer.ggml.tokens' && kind === 'list') tokensStart = reader.offset;
    const value = reader.value(kind);
    kinds.set(key, kind);
    values.set(key, typeof value === 'object' ? value.length : value);
    if (typeof value === 'object' && !key.startsWith('tokenizer.')) lists.set(key, value);
  }
  const tensors: TensorInfo[] = [];
  for (let index = 0; index < tensorCount; index++) tensors.push(readTensorInfo(reader));
  const end = reader.offset;
  // An incomplete header is parsed again, and this takes far longer than the rest.
  const vocabulary = readVocabulary(tokensStart === undefined ? [] : reader.texts(tokensStart));
  return { values, kinds, lists, tensors, ...vocabulary, end };
}

function readTensorInfo(reader: HeaderReader): TensorInfo {
  const name = reader.text();
  const rank = reader.number('u32');
  if (rank < 1 || rank > 4) throw new Error(`its tensor ${name} has ${rank} dimensions`);
  const dimensions = Array.from({ length: rank }, () => reader.number('u64'));
  return { name, dimensions, type: reader.number('u32'), offset: reader.number('u64') };
}

/** The types of numbers: their bytes, and how they are read (little endian). */
const numberTypes = {
  u8: { size: 1, read: (bytes: Buffer, at: number) => bytes.readUInt8(at) },
  i8: { size: 1, read: (bytes: Buffer, at: number) => bytes.readInt8(at) },
  u16: { size: 2, read: (bytes: Buffer, at: number) => bytes.readUInt16LE(at) },
  i16: { size: 2, read: (bytes: Buffer, at: number) => bytes.readInt16LE(at) },
  u32: { size: 4, read: (bytes: Buffer, at: number) => bytes.readUInt32LE(at) },
  i32: { size: 4, read: (bytes: Buffer, at: number) => bytes.readInt32LE(at) },
  f32: { size: 4, read: (bytes: Buffer, at: number) => bytes.readFloatLE(at) },
  bool: { size: 1, read: (bytes: Buffer, at: number) => bytes.readUInt8(at) },
  u64: { size: 8, read: (bytes: Buffer, at: number) => Number(bytes.readBigUInt64LE(at)) },
  i64: { size: 8, read: (bytes: Buffer, at: number) => Number(bytes.readBigInt64LE(at)) },
  f64: { size: 8, read: (bytes: Buffer, at: number) => bytes.readDoubleLE(at) },
} as const;
type NumberKind = keyof typeof numberTypes;
const maxListEntries = 4096;

/** By their numbers in a file. */
const valueTypes = 'u8 i8 u16 i16 u32 i32 f32 bool text list u64 i64 f64'.split(' ') as readonly ValueKind[];

// UTF-8 has no other bytes.
const bytesOfTexts = Array.from({ length: 256 }, (_, byte) => byte).filter(
  (byte) => byte < 0xc0 || (byte > 0xc1 && byte < 0xf5),
);

/** The byte token of SentencePiece vocabularies. */
export const byteToken = (byte: number): string => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`;

/** Compares the tokens of a vocabulary as llama.cpp does. */
function readVocabulary(tokens: Iterable<Buffer>): Pick<GgufHeader, 'hasDuplicateTokens' | 'bytesWithoutToken'> {
  const seen = new Set<string>();
  let hasDuplicateTokens = false;
  for (const bytes of tokens) {
    // llama.cpp reads them as C strings, which end at the first zero byte, and gives empty ones a name of its own.
    const [token = ''] = bytes.toString('latin1').split('\0', 1);
    hasDuplicateTokens ||= token !== '' && seen.has(token);
    seen.add(token);
  }
  const hasToken = (byte: number): boolean => seen.has(byteToken(byte)) || seen.has(String.fromCharCode(byte));
  return { hasDuplicateTokens, bytesWithoutToken: bytesOfTexts.filter((byte) => !hasToken(byte)) };
}

class HeaderReader {
  readonly #bytes: Buffer;
  offset = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** @returns where the skipped bytes begin. */
  skip(length: number): number {
    const start = this.offset;
    if (start + length > this.#bytes.length) throw new IncompleteHeader();
    this.offset += length;
    return start;
  }

  bytes(length: number): Buffer {
    return this.#bytes.subarray(this.skip(length), this.offset);
  }

  number(kind: NumberKind): number {
    const { size, read } = numberTypes[kind];
    return read(this.#bytes, this.skip(size));
  }

  text(): string {
    return this.bytes(this.number('u64')).toString('utf8');
  }

  /** The entries of the list at an offset; none if they are no texts. */
  *texts(offset: number): Iterable<Buffer> {
    this.offset = offset;
    if (this.kind() !== 'text') return;
    for (let left = this.number('u64'); left > 0; left--) yield this.bytes(this.number('u64'));
  }

  value(kind: ValueKind): string | number | boolean | (NumberList & { readonly length: number }) {
    if (kind === 'text') return this.text();
    if (kind === 'list') return this.#list();
    return kind === 'bool' ? this.number(kind) !== 0 : this.number(kind);
  }

  kind(): ValueKind {
    const code = this.number('u32');
    const kind = valueTypes[code];
    if (kind === undefined) throw new Error(`it has a value of the unknown type ${code}`);
    return kind;
  }

  #list(): NumberList & { readonly length: number } {
    const kind = this.kind();
    const length = this.number('u64');
    if (kind === 'list') throw new Error('it has a list of lists');
    if (kind === 'text') for (let index = 0; index < length; index++) this.skip(this.number('u64'));
    else if (length > maxListEntries) this.skip(length * numberTypes[kind].size);
    else return { kind, length, numbers: Array.from({ length }, () => this.number(kind)) };
    return { kind, length, numbers: [] };
  }
}
