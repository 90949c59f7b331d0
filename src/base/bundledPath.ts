import { fileURLToPath } from 'node:url';

/** The path of a file or folder that is bundled with this package: `graphs`, `models.json`. */
export const bundledPath = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));
