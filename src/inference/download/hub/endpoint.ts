import { readFile, realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { homedir } from 'node:os';
import type { Environment } from '../../../base/httpRoute.ts';
import type { Target } from '../target.ts';
import { Fault } from '../../../protocol/fault.ts';

export interface HubSettings {
  readonly endpoint: URL;
  /** Access token, sent to the endpoint only; "" = none. */
  readonly token: string;
  /** Names the proxy, if there is one. */
  readonly env: Environment;
}

const publicHub = 'https://huggingface.co';

/** HF_ENDPOINT, HF_HUB_OFFLINE, HF_TOKEN, else that of `hf auth login`. @throws Fault DOWNLOAD_NOT_AVAILABLE */
export async function readHubSettings(env: Environment, home = homedir()): Promise<HubSettings> {
  if (/^(1|on|yes|true)$/i.test(env['HF_HUB_OFFLINE'] ?? ''))
    throw new Fault('DOWNLOAD_NOT_AVAILABLE', 'nothing is downloaded while HF_HUB_OFFLINE is set');
  const file = env['HF_TOKEN_PATH'] || join(hubHome(env, home), 'token');
  const token = (env['HF_TOKEN'] || (await readFile(file, 'utf8').catch(() => ''))).trim();
  // `fetch` would reject an invalid header value with the token in its message.
  if (!/^[\x21-\x7e]*$/.test(token))
    throw new Fault(
      'DOWNLOAD_NOT_AVAILABLE',
      `${env['HF_TOKEN'] ? 'HF_TOKEN' : file} has characters in it that no token has`,
    );
  return { endpoint: parseEndpoint(env['HF_ENDPOINT'] || publicHub), token, env };
}

function parseEndpoint(text: string): URL {
  const endpoint = URL.canParse(text) ? new URL(text) : undefined;
  if (endpoint && /^https?:$/.test(endpoint.protocol) && endpoint.username + endpoint.password === '') return endpoint;
  throw new Fault(
    'DOWNLOAD_NOT_AVAILABLE',
    `HF_ENDPOINT must be an address like https://host, without a password, not ${JSON.stringify(redact(text))}`,
  );
}

// Hides a password, and a token that was put into the wrong variable.
const redact = (text: string): string =>
  text.replace(/^([a-z+]*:\/\/)?.*@/is, '$1***@').replaceAll(/hf_\w+/g, 'hf_***');

/** The URL that serves a file, or redirects to the host that does. */
export function fileUrl({ endpoint }: HubSettings, { repo, revision, file }: Target): URL {
  const path = [...repo.split('/'), 'resolve', revision, ...file.split('/')].map(encodeURIComponent).join('/');
  return new URL(`${endpoint.pathname.replace(/(?<!\/)\/+$/, '')}/${path}`, endpoint);
}

/** The web page of a repository, for messages. */
export const repoPageUrl = ({ endpoint }: HubSettings, repo: string): string =>
  `${endpoint.origin}${endpoint.pathname.replace(/(?<!\/)\/+$/, '')}/${repo}`;

/** The Hugging Face cache folder: HF_HUB_CACHE, else `hub` in HF_HOME, else in `~/.cache/huggingface`. */
export function hubCacheFolder(env: Environment, home = homedir()): string {
  return env['HF_HUB_CACHE'] || join(hubHome(env, home), 'hub');
}

const hubHome = (env: Environment, home: string): string =>
  env['HF_HOME'] || join(env['XDG_CACHE_HOME'] || join(home, '.cache'), 'huggingface');

/** Finds a file in the Hugging Face cache: `models--OWNER--NAME/{refs,snapshots,blobs}`. It is never changed. */
export async function findInHubCache(
  cache: string,
  { repo, revision, file, expected }: Target,
): Promise<string | undefined> {
  const repoFolder = join(cache, `models--${repo.replaceAll('/', '--')}`);
  const commit = await readFile(join(repoFolder, 'refs', ...revision.split('/')), 'utf8').then(
    (text) => text.trim(),
    () => revision,
  );
  // The commit id is read from disk; reject anything that could leave the cache folder.
  if (!/^\w+$/.test(commit)) return undefined;
  const path = join(repoFolder, 'snapshots', commit, ...file.split('/'));
  const blob = await realpath(path).catch(() => undefined);
  if (blob === undefined) return undefined;
  const sha256 = blobHash(blob);
  return sha256 !== undefined && expected.sha256 !== undefined && sha256 !== expected.sha256 ? undefined : path;
}

/** The SHA-256 that a blob of the cache is named after; undefined when its name is not a SHA-256. */
export function blobHash(blob: string): string | undefined {
  const name = basename(blob);
  return /^[0-9a-f]{64}$/.test(name) ? name : undefined;
}
