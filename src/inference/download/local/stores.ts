import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '../../../base/httpRoute.ts';
import { hubCacheFolder } from '../hub/endpoint.ts';

/** Programs that keep GGUF files on the machine. */
export type StoreProgram = 'Hugging Face' | 'llama.cpp' | 'LM Studio' | 'Ollama';

/** A folder in which a program keeps GGUF files. It need not exist. */
export interface ModelStore {
  readonly program: StoreProgram;
  readonly folder: string;
}

export interface Machine {
  readonly env: Environment;
  /** Home folder of the user; default: that of the system. */
  readonly home?: string;
  /** Default: the platform of this process. */
  readonly platform?: NodeJS.Platform;
}

/** The folders of all programs, as their environment variables and the defaults of the platform have them. */
export async function findModelStores(machine: Machine): Promise<readonly ModelStore[]> {
  const { env, home = homedir(), platform = process.platform } = machine;
  const ollama = env['OLLAMA_MODELS'] ? [env['OLLAMA_MODELS']] : ollamaFolders(home, platform);
  const lmStudioHome = await readLmStudioHome(home);
  return [
    { program: 'Hugging Face', folder: hubCacheFolder(env, home) },
    { program: 'llama.cpp', folder: env['LLAMA_CACHE'] || llamaCppFolder({ env, home, platform }) },
    { program: 'LM Studio', folder: join(lmStudioHome, 'models') },
    // Where LM Studio kept them before version 0.3.
    { program: 'LM Studio', folder: join(home, '.cache', 'lm-studio', 'models') },
    ...ollama.map((folder) => ({ program: 'Ollama', folder }) as const),
  ];
}

function llamaCppFolder({ env, home, platform }: Required<Machine>): string {
  if (platform === 'win32') return join(env['LOCALAPPDATA'] || join(home, 'AppData', 'Local'), 'llama.cpp');
  if (platform === 'darwin') return join(home, 'Library', 'Caches', 'llama.cpp');
  return join(env['XDG_CACHE_HOME'] || join(home, '.cache'), 'llama.cpp');
}

/** On Linux the service runs as a user of its own. */
const ollamaFolders = (home: string, platform: NodeJS.Platform): readonly string[] => [
  join(home, '.ollama', 'models'),
  ...(platform === 'linux' ? ['/usr/share/ollama/.ollama/models', '/var/lib/ollama/models'] : []),
];

// LM Studio writes the path of its folder to this file when the user moves it.
async function readLmStudioHome(home: string): Promise<string> {
  const pointer = await readFile(join(home, '.lmstudio-home-pointer'), 'utf8').catch(() => '');
  return pointer.trim() || join(home, '.lmstudio');
}
