import { homedir } from 'node:os';
import { join } from 'node:path';
import { Fault } from '../../fault.ts';
import type { Target } from '../target.ts';

/** Environment variables, as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Where models are fetched from, as the environment has it. */
export interface HubSettings {
  readonly endpoint: URL;
  /** Shown to the endpoint and to nobody else; "" = none. */
  readonly token: string;
}

const publicHub = 'https://huggingface.co';

/** Reads HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE. @throws Fault DOWNLOAD_NOT_AVAILABLE when there is to be no network. */
export function readHubSettings(env: Environment): HubSettings {
  if (/^(1|on|yes|true)$/i.test(env['HF_HUB_OFFLINE'] ?? ''))
    throw new Fault('DOWNLOAD_NOT_AVAILABLE', 'nothing is downloaded while HF_HUB_OFFLINE is set');
  const token = (env['HF_TOKEN'] ?? '').trim();
  // What a header cannot hold would be refused with the token in the message.
  if (!/^[\x21-\x7e]*$/.test(token))
    throw new Fault('DOWNLOAD_NOT_AVAILABLE', 'HF_TOKEN has characters in it that no token has');
  return { endpoint: parseEndpoint(env['HF_ENDPOINT'] || publicHub), token };
}

function parseEndpoint(text: string): URL {
  const endpoint = URL.canParse(text) ? new URL(text) : undefined;
  const plain = endpoint && /^https?:$/.test(endpoint.protocol) && endpoint.username + endpoint.password === '';
  if (plain) return endpoint;
  throw new Fault(
    'DOWNLOAD_NOT_AVAILABLE',
    `HF_ENDPOINT must be an address like https://host, without a password, not ${JSON.stringify(redact(text))}`,
  );
}

// A password, or a token that was put in the wrong variable, is not shown.
const redact = (text: string): string =>
  text.replace(/^([a-z+]*:\/\/)?.*@/is, '$1***@').replaceAll(/hf_\w+/g, 'hf_***');

/** The address of a file. */
export function fileUrl({ endpoint }: HubSettings, { repo, revision, file }: Target): URL {
  const path = [...repo.split('/'), 'resolve', revision, ...file.split('/')].map(encodeURIComponent).join('/');
  return new URL(`${endpoint.pathname.replace(/\/+$/, '')}/${path}`, endpoint);
}

/** The page of a repository, for people. */
export const repoPageUrl = ({ endpoint }: HubSettings, repo: string): string =>
  `${endpoint.origin}${endpoint.pathname.replace(/\/+$/, '')}/${repo}`;

/** The folder that other programs keep their downloads from the hub in. */
export function cacheFolder(env: Environment): string {
  const home = env['HF_HOME'] || join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'huggingface');
  return env['HF_HUB_CACHE'] || join(home, 'hub');
}
