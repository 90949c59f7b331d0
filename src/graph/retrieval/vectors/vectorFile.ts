import { createCipheriv } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';
import { writeAll, writeAtomic } from '../../../base/filesystem.ts';
import { countRows, type VectorMatrix } from './vectorMatrix.ts';

export interface SavedVectors {
  readonly matrix: VectorMatrix;
  /** How many of the texts were cut. */
  readonly truncated: number;
}

export interface ExpectedVectors {
  /** Their name: a hash of all that they depend on. */
  readonly id: string;
  readonly texts: number;
  readonly dimensions: number;
}

/** Magic, id, texts, dimensions, truncated, and the checksum of the values, which are 32-bit floats, little-endian. */
const magic = Buffer.from('TGVEC01\n');
const idOffset = magic.length;
const countsOffset = idOffset + 32;
const checksumOffset = countsOffset + 12;
const headerBytes = checksumOffset + 16;
/** Read, written and checked in less than a millisecond. */
const chunkBytes = 2 ** 20;

/** Writes a file of vectors, for its owner only. @param draft is written first, and then renamed. @throws the system's error. */
export function writeVectorFile(
  path: string,
  id: string,
  { matrix, truncated }: SavedVectors,
  draft: string,
): Promise<void> {
  const bytes = bytesOf(matrix);
  const write = async (file: FileHandle): Promise<void> => {
    await file.chmod(0o600);
    const checksum = createChecksum();
    for (let at = 0; at < bytes.length; at += chunkBytes) {
      const chunk = bytes.subarray(at, at + chunkBytes);
      checksum.setAAD(chunk);
      await writeAll(file, chunk, headerBytes + at);
    }
    const header = headerOf({ id, texts: countRows(matrix), dimensions: matrix.dimensions }, truncated);
    await writeAll(file, Buffer.concat([header, endChecksum(checksum)]), 0);
  };
  return writeAtomic(path, write, draft);
}

/** Reads a file of vectors in chunks. @throws Error when it is damaged or of other texts or models; system errors. */
export async function readVectorFile(path: string, expected: ExpectedVectors): Promise<SavedVectors> {
  const file = await open(path);
  try {
    const matrix = { values: new Float32Array(expected.texts * expected.dimensions), dimensions: expected.dimensions };
    const bytes = bytesOf(matrix);
    const { size } = await file.stat();
    if (size !== headerBytes + bytes.length)
      throw new Error(`it has ${size} bytes instead of ${headerBytes + bytes.length}`);
    const header = Buffer.alloc(headerBytes);
    await readAll(file, header, 0);
    const truncated = header.readUInt32LE(countsOffset + 8);
    if (!header.subarray(0, checksumOffset).equals(headerOf(expected, truncated)))
      throw new Error('it is of other texts, or of another model or version');
    const checksum = createChecksum();
    for (let at = 0; at < bytes.length; at += chunkBytes) {
      const chunk = bytes.subarray(at, at + chunkBytes);
      await readAll(file, chunk, headerBytes + at);
      checksum.setAAD(chunk);
    }
    if (!endChecksum(checksum).equals(header.subarray(checksumOffset))) throw new Error('its checksum is wrong');
    return { matrix, truncated };
  } finally {
    await file.close();
  }
}

export const vectorFileBytes = ({ values }: VectorMatrix): number => headerBytes + values.byteLength;

function headerOf({ id, texts, dimensions }: ExpectedVectors, truncated: number): Buffer {
  const counts = Buffer.alloc(12);
  [texts, dimensions, truncated].forEach((count, index) => counts.writeUInt32LE(count, 4 * index));
  return Buffer.concat([magic, Buffer.from(id, 'hex'), counts]);
}

const bytesOf = ({ values }: VectorMatrix): Buffer => Buffer.from(values.buffer, values.byteOffset, values.byteLength);

async function readAll(file: FileHandle, target: Buffer, position: number): Promise<void> {
  for (let at = 0; at < target.length;) {
    const { bytesRead } = await file.read(target, at, target.length - at, position + at);
    if (bytesRead === 0) throw new Error('it ends too early');
    at += bytesRead;
  }
}

/** GMAC with a constant key: it finds all damage that a hash finds, and is faster. */
const createChecksum = () => createCipheriv('aes-128-gcm', Buffer.alloc(16), Buffer.alloc(12));

function endChecksum(checksum: ReturnType<typeof createChecksum>): Buffer {
  checksum.final();
  return checksum.getAuthTag();
}
