import type { PlannedBundle } from '../bundle/planBundle.ts';
import { startFileOf } from '../bundle/startFiles.ts';
import { formatBytes } from '../../base/units.ts';

/** What is in a bundle, and how large each part is, for a terminal. */
export function describeBundle(folder: string, { platform, parts }: PlannedBundle): string {
  const sizes = parts.map(({ bytes }) => formatBytes(bytes));
  const width = Math.max(...sizes.map((size) => size.length));
  const rows = parts.map(({ title }, index) => `  ${sizes[index]?.padStart(width)}  ${title}`);
  const start = `start it with ${folder}/${startFileOf(platform)}`;
  return [`${folder} for ${platform}: ${formatBytes(totalOf(parts))}; ${start}`, ...rows, ''].join('\n');
}

/** The same for programs, as one JSON document. */
export function bundleToJson(folder: string, { platform, parts }: PlannedBundle): string {
  const list = parts.map(({ kind, title, bytes, files }) => ({ part: kind, title, bytes, files: files.length }));
  return `${JSON.stringify({ folder, platform, start: startFileOf(platform), bytes: totalOf(parts), parts: list })}\n`;
}

const totalOf = (parts: PlannedBundle['parts']): number => parts.reduce((sum, { bytes }) => sum + bytes, 0);
