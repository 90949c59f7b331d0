import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describeError } from '../protocol/fault.ts';
import type { Extension } from '../graph/nodes/index.ts';

/**
 * Imports the modules of `--extend` and merges their `nodeTypes` and `formats` into one extension.
 * @param modules paths, relative to the working directory.
 * @throws TypeError that names the module, when it cannot be loaded or exports neither.
 */
export async function loadExtension(modules: readonly string[]): Promise<Extension> {
  const extensions = await Promise.all(modules.map(loadModule));
  return {
    nodeTypes: extensions.flatMap(({ nodeTypes = [] }) => nodeTypes),
    formats: extensions.flatMap(({ formats = [] }) => formats),
  };
}

async function loadModule(path: string): Promise<Extension> {
  const exported = (await import(pathToFileURL(resolve(path)).href).catch((cause: unknown) => {
    const reason = describeError(cause);
    throw new TypeError(`the extension ${path} cannot be loaded: ${reason}`, { cause });
  })) as Extension;
  if (exported.nodeTypes || exported.formats) return exported;
  throw new TypeError(
    `the extension ${path} exports neither nodeTypes nor formats; export a list under one of these names`,
  );
}
