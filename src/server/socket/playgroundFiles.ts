import { readFile, readdir } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

/** A file of the playground page. */
export interface PlaygroundFile {
  readonly type: string;
  readonly body: Buffer;
  /** Its body in the content coding gzip; undefined where that is not smaller. */
  readonly gzipBody: Buffer | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/** Where `npm run build` writes the page: `index.html`, and its other files in `playground/`. */
const folder = fileURLToPath(new URL('../../../dist/playground/', import.meta.url));

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
};

/**
 * Only files and the WebSocket of the server itself. Inline styles are allowed, since libraries set positions with them;
 * inline scripts and `eval` are not.
 */
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

const commonHeaders = {
  'content-security-policy': contentSecurityPolicy,
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
};

const compress = promisify(gzip);

let files: Promise<ReadonlyMap<string, PlaygroundFile>> | undefined;

/** Reads a file of the page by the path of its URL; undefined where there is none. They are read once. */
export async function readPlaygroundFile(path: string): Promise<PlaygroundFile | undefined> {
  files ??= readFiles();
  return (await files).get(path);
}

/** Whether a path can be that of a file of the page. */
export const isPlaygroundPath = (path: string): boolean => path === '/' || path.startsWith('/playground/');

// The names of scripts, styles and pictures have a hash of their contents in them; those of the page and the licences have not.
async function readFiles(): Promise<ReadonlyMap<string, PlaygroundFile>> {
  const names = await readdir(join(folder, 'playground')).catch((): readonly string[] => []);
  const assets = names.map(async (name) => {
    const cacheControl = extname(name) === '.txt' ? 'no-cache' : 'public, max-age=31536000, immutable';
    const file = await readPageFile(join('playground', name), cacheControl);
    return [`/playground/${name}`, file] as const;
  });
  const index = readPageFile('index.html', 'no-cache').then(
    (file) => [['/', file] as const],
    () => [],
  );
  return new Map([...(await Promise.all(assets)), ...(await index)]);
}

async function readPageFile(path: string, cacheControl: string): Promise<PlaygroundFile> {
  const body = await readFile(join(folder, path));
  const compressed = await compress(body);
  return {
    type: types[extname(path)] ?? 'application/octet-stream',
    body,
    gzipBody: compressed.byteLength < body.byteLength ? compressed : undefined,
    headers: { ...commonHeaders, 'cache-control': cacheControl, vary: 'accept-encoding' },
  };
}
