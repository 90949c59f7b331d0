import { fileURLToPath } from 'node:url';
import { readFileSync } from 'node:fs';

/** The path of a file or folder that is bundled with this package: `graphs`, `models.json`. */
export const bundledPath = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));

export const version = (
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
).version;
