import { readFile, readdir, stat } from 'node:fs/promises';
import { extname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { isNoFileError } from '../../base/filesystem.ts';
import { decodePercent } from '../../base/jsonPointer.ts';

export interface PageFile {
  readonly type: string;
  readonly body: Buffer;
  /** Its body in the content coding gzip; undefined where that is not smaller. */
  readonly gzipBody?: Buffer | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/** The web page at `/` of the server: the playground, or that of `--page`. */
export interface Page {
  /** Whether a path can be that of a file of the page. */
  has(path: string): boolean;
  /** Reads a file by the path of its URL; undefined where there is none. */
  read(path: string): Promise<PageFile | undefined>;
}

export const noPage: Page = { has: () => false, read: async () => undefined };

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.webp': 'image/webp',
  '.ico': 'image/x-icon',
  '.mp3': 'audio/mpeg',
  '.ogg': 'audio/ogg',
  '.wav': 'audio/wav',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
};

const typeOf = (path: string): string => types[extname(path).toLowerCase()] ?? 'application/octet-stream';

const ownPath = /^\/(?:health|metrics|schema|proto|graphs|v1)(?:\/|$)/;

/** The page in a folder, read at each request. Hidden files, and files outside of the folder, are not there. */
export function folderPage(folder: string): Page {
  const root = resolve(folder);
  return {
    has: (path) => !ownPath.test(path),
    async read(path) {
      const decoded = decodePercent(path);
      if (decoded === undefined) return undefined;
      const file = resolve(root, `.${decoded}`);
      const isInside = file === root || file.startsWith(root + sep);
      if (!isInside || /[/\\]\.|\0/.test(file.slice(root.length))) return undefined;
      const found = await stat(file).catch(() => undefined);
      const name = found?.isDirectory() ? join(file, 'index.html') : file;
      const body = await readFile(name).catch(() => undefined);
      return body && { type: typeOf(name), body, headers: { 'cache-control': 'no-cache' } };
    },
  };
}

/** Where `npm run build` writes the playground: `index.html`, and its other files in `playground/`. */
const playgroundFolder = fileURLToPath(new URL('../../../dist/playground/', import.meta.url));

/** Files and the WebSocket of the server only; inline styles, as libraries need them; no inline scripts or `eval`. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const playgroundHeaders = {
  'content-security-policy': contentSecurityPolicy,
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
};

const compress = promisify(gzip);
let playgroundFiles: Promise<ReadonlyMap<string, PageFile>> | undefined;

/** The playground. Its files are read once. */
export const playgroundPage: Page = {
  has: (path) => path === '/' || path.startsWith('/playground/'),
  async read(path) {
    playgroundFiles ??= readPlayground().catch((error: unknown) => {
      // There may be file handles again for the next request.
      playgroundFiles = undefined;
      throw error;
    });
    return (await playgroundFiles).get(path);
  },
};

/** The files by the paths of their URLs; none where the playground was not built. */
async function readPlayground(): Promise<ReadonlyMap<string, PageFile>> {
  const names = await readdir(join(playgroundFolder, 'playground')).catch((error: unknown): readonly string[] => {
    if (isNoFileError(error)) return [];
    throw error;
  });
  const paths = names.length === 0 ? [] : ['index.html', ...names.map((name) => `playground/${name}`)];
  const files = paths.map(async (path) => {
    const body = await readFile(join(playgroundFolder, path));
    const compressed = await compress(body);
    const file: PageFile = {
      type: typeOf(path),
      body,
      gzipBody: compressed.byteLength < body.byteLength ? compressed : undefined,
      headers: { ...playgroundHeaders, 'cache-control': cachingOf(path), vary: 'accept-encoding' },
    };
    return [path === 'index.html' ? '/' : `/${path}`, file] as const;
  });
  return new Map(await Promise.all(files));
}

// The names of scripts, styles and pictures have a hash of their contents in them; those of the page and the licences have not.
const cachingOf = (path: string): string =>
  /\.(?:html|txt)$/.test(path) ? 'no-cache' : 'public, max-age=31536000, immutable';
