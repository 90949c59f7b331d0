import { existsSync } from 'node:fs';
import type { Catalogue } from '../models/catalogue/catalogue.ts';

/** Whether the catalogue has a model whose file is there. */
export function isOnDisk({ models }: Catalogue, name: string): boolean {
  const file = models.get(name)?.file;
  return file !== undefined && existsSync(file);
}
