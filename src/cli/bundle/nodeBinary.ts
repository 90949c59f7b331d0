import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { describeFsError } from '../../base/filesystem.ts';
import { platformOf, type BundlePlatform } from './platforms.ts';

/** A Node program that runs without other files. */
export interface NodeBinary {
  readonly path: string;
  readonly platform: BundlePlatform;
  /** Without "v": 24.11.1. */
  readonly version: string;
}

const minMajor = 20;

/**
 * Reads for which system a Node program is, and its version, without starting it.
 * @throws Error that names the file, when it is no such program.
 */
export async function readNodeBinary(path: string): Promise<NodeBinary> {
  const header = await readHeader(path).catch((error: unknown) => {
    throw new Error(`${path} cannot be read: ${describeFsError(error)}`, { cause: error });
  });
  const system = systemOf(header);
  const platform = system && platformOf(system);
  if (platform === undefined) throw new Error(`${path} is no program for a system that a bundle can be made for`);
  const version = await findVersion(path);
  if (version === undefined)
    throw new Error(
      `${path} is no Node that runs alone: it is another program, or needs a library (libnode); ` +
        'give --node the one of an archive of nodejs.org',
    );
  if (Number(version.split('.')[0]) < minMajor)
    throw new Error(`${path} is Node ${version}; turngraph needs ${minMajor} or later`);
  return { path, platform, version };
}

const headerBytes = 4096;

async function readHeader(path: string): Promise<DataView> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(headerBytes), 0, headerBytes, 0);
    return new DataView(buffer.buffer, buffer.byteOffset, bytesRead);
  } finally {
    await file.close();
  }
}

/** What the header of a program says: ELF (Linux), PE (Windows) or Mach-O of one processor (macOS). */
function systemOf(header: DataView): { readonly platform: string; readonly arch: string } | undefined {
  if (header.byteLength < 64) return undefined;
  if (header.getUint32(0) === 0x7f454c46)
    return withArch('linux', { 0x3e: 'x64', 0xb7: 'arm64' }, header.getUint16(18, true));
  if (header.getUint32(0, true) === 0xfeedfacf)
    return withArch('darwin', { 0x01000007: 'x64', 0x0100000c: 'arm64' }, header.getUint32(4, true));
  if (header.getUint16(0) !== 0x4d5a) return undefined;
  const start = header.getUint32(60, true);
  if (start + 6 > header.byteLength || header.getUint32(start) !== 0x50450000) return undefined;
  return withArch('win32', { 0x8664: 'x64', 0xaa64: 'arm64' }, header.getUint16(start + 4, true));
}

function withArch(platform: string, archs: Readonly<Record<number, string>>, machine: number) {
  const arch = archs[machine];
  return arch === undefined ? undefined : { platform, arch };
}

/** Every Node has the address of its headers; one that only loads a library has not. */
const versionPattern = /\/download\/release\/v(\d+\.\d+\.\d+)\//;
const overlap = 100;

async function findVersion(path: string): Promise<string | undefined> {
  let rest = '';
  for await (const chunk of createReadStream(path, { highWaterMark: 2 ** 20 })) {
    const text = rest + (chunk as Buffer).toString('latin1');
    const [, version] = versionPattern.exec(text) ?? [];
    if (version !== undefined) return version;
    rest = text.slice(-overlap);
  }
  return undefined;
}
