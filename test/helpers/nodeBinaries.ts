import { writeFile } from 'node:fs/promises';

/** Where headers of programs have what they are for. */
const headers: Readonly<Record<string, (header: DataView) => void>> = {
  'linux-x64': (header) => writeElf(header, 0x3e),
  'linux-arm64': (header) => writeElf(header, 0xb7),
  'linux-s390x': (header) => writeElf(header, 0x16),
  'win-x64': (header) => writePe(header, 0x8664),
  'win-arm64': (header) => writePe(header, 0xaa64),
  'mac-x64': (header) => writeMachO(header, 0x01000007),
  'mac-arm64': (header) => writeMachO(header, 0x0100000c),
};

function writeElf(header: DataView, machine: number): void {
  header.setUint32(0, 0x7f454c46);
  header.setUint16(18, machine, true);
}

function writePe(header: DataView, machine: number): void {
  header.setUint16(0, 0x4d5a);
  header.setUint32(60, 128, true);
  header.setUint32(128, 0x50450000);
  header.setUint16(132, machine, true);
}

function writeMachO(header: DataView, processor: number): void {
  header.setUint32(0, 0xfeedfacf, true);
  header.setUint32(4, processor, true);
}

/** Writes a file that has of a Node program only what is read without starting it: the header, and the version. */
export async function writeNodeBinary(path: string, platform: string, version = '24.11.1'): Promise<string> {
  const header = new DataView(new ArrayBuffer(4096));
  headers[platform]?.(header);
  const filler = Buffer.alloc(2 ** 20, '.');
  const url = version === '' ? '' : `https://nodejs.org/download/release/v${version}/node-v${version}.tar.gz`;
  // The address lies across the end of a piece that is read at a time.
  await writeFile(
    path,
    Buffer.concat([Buffer.from(header.buffer), filler.subarray(4096 + 20), Buffer.from(url), filler]),
  );
  return path;
}
