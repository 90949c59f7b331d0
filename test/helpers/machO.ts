import { readFile } from 'node:fs/promises';

/** What a Mach-O file of one processor says. */
export interface MachO {
  readonly arch: string;
  readonly kind: string;
  /** Paths of the libraries that it loads. */
  readonly libraries: readonly string[];
  /** Where `@rpath` leads. */
  readonly rpaths: readonly string[];
  /** Whether it has a signature, which Apple silicon needs, if only an ad hoc one. */
  readonly isSigned: boolean;
  /** The least version of macOS, such as `13.5`; "" = it names none. */
  readonly minVersion: string;
}

const archs: Readonly<Record<number, string>> = { 0x01000007: 'x64', 0x0100000c: 'arm64' };
const kinds: Readonly<Record<number, string>> = { 2: 'program', 6: 'library', 8: 'bundle' };
const headerBytes = 32;

/** Reads a Mach-O file. @throws Error for another file. */
export async function readMachO(path: string): Promise<MachO> {
  const bytes = await readFile(path);
  if (bytes.readUInt32LE(0) !== 0xfeedfacf) throw new Error(`${path} is no Mach-O file of one processor`);
  const libraries: string[] = [];
  const rpaths: string[] = [];
  let isSigned = false;
  let minVersion = '';
  let offset = headerBytes;
  for (let rest = bytes.readUInt32LE(16); rest > 0; rest -= 1) {
    const command = bytes.readUInt32LE(offset) & 0x7fffffff;
    const size = bytes.readUInt32LE(offset + 4);
    const text = (): string => {
      const start = offset + bytes.readUInt32LE(offset + 8);
      return bytes.toString('utf8', start, bytes.indexOf(0, start));
    };
    // LC_LOAD_DYLIB, LC_LOAD_WEAK_DYLIB, LC_REEXPORT_DYLIB
    if ([0x0c, 0x18, 0x1f].includes(command)) libraries.push(text());
    if (command === 0x1c) rpaths.push(text());
    if (command === 0x1d) isSigned = bytes.readUInt32LE(offset + 12) > 0;
    // LC_VERSION_MIN_MACOSX, LC_BUILD_VERSION
    if (command === 0x24) minVersion = versionOf(bytes.readUInt32LE(offset + 8));
    if (command === 0x32) minVersion = versionOf(bytes.readUInt32LE(offset + 12));
    offset += size;
  }
  const [arch = '', kind = ''] = [archs[bytes.readUInt32LE(4)], kinds[bytes.readUInt32LE(12)]];
  return { arch, kind, libraries, rpaths, isSigned, minVersion };
}

const versionOf = (packed: number): string => `${packed >> 16}.${(packed >> 8) & 0xff}`;
