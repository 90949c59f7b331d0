import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { basename, dirname } from 'node:path';
import { createGzip } from 'node:zlib';
import { repositoryPath } from './server.ts';

interface LockEntry {
  readonly version?: string;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
}

/** A registry on loopback. */
export interface NpmRegistry extends AsyncDisposable {
  readonly url: string;
}

/**
 * Starts an npm registry with the packages of package-lock.json, so that npm installs without a network. Packages that this
 * system has not installed, which are those of other systems, have a manifest and no file.
 */
export async function startNpmRegistry(): Promise<NpmRegistry> {
  const lock = JSON.parse(await readFile(repositoryPath('package-lock.json'), 'utf8')) as {
    packages: Record<string, LockEntry>;
  };
  const versionsOf = new Map<string, Map<string, readonly [path: string, entry: LockEntry]>>();
  for (const [path, entry] of Object.entries(lock.packages)) {
    const name = path.split('node_modules/').at(-1) ?? '';
    if (name === '' || entry.version === undefined) continue;
    versionsOf.set(name, (versionsOf.get(name) ?? new Map()).set(entry.version, [path, entry]));
  }

  const manifestOf = async (name: string, version: string, [path, entry]: readonly [string, LockEntry]) => {
    const file = repositoryPath(`${path}/package.json`);
    const manifest = existsSync(file) ? (JSON.parse(await readFile(file, 'utf8')) as object) : entry;
    return [version, { ...manifest, name, version, dist: { tarball: `${url}/${name}/-/${version}.tgz` } }] as const;
  };

  const server = createServer((request, response) => {
    void (async () => {
      const [name = '', file] = decodeURIComponent(request.url ?? '')
        .slice(1)
        .split('/-/');
      const versions = versionsOf.get(name);
      const path = file === undefined ? undefined : versions?.get(file.replace(/\.tgz$/, ''))?.[0];
      if (file === undefined && versions !== undefined) {
        const manifests = await Promise.all([...versions].map(([version, found]) => manifestOf(name, version, found)));
        const body = { name, 'dist-tags': { latest: manifests.at(-1)?.[0] }, versions: Object.fromEntries(manifests) };
        response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
      } else if (path !== undefined && existsSync(repositoryPath(path))) {
        const folder = basename(path);
        const args = ['-c', '--exclude', `${folder}/node_modules`, '-C', repositoryPath(dirname(path)), folder];
        // npm expects gzip; to compress would take most of the time.
        spawn('tar', args)
          .stdout.pipe(createGzip({ level: 0 }))
          .pipe(response);
      } else {
        response.writeHead(404).end('{}');
      }
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the registry does not listen');
  const url = `http://127.0.0.1:${address.port}`;

  return {
    url,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
