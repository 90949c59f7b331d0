import { getLlamaGpuTypes, type Llama } from 'node-llama-cpp';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describeError, Fault } from '../../protocol/fault.ts';
import type { GpuChoice } from '../contract/engine.ts';

const packages: Readonly<Record<string, string>> = {
  'linux-x64': 'linux-x64',
  'linux-arm64': 'linux-arm64',
  'linux-arm': 'linux-armv7l',
  'linux-riscv64': 'linux-riscv64',
  'darwin-arm64': 'mac-arm64-metal',
  'darwin-x64': 'mac-x64',
  'win32-x64': 'win-x64',
  'win32-arm64': 'win-arm64',
};

/** The npm package with the llama.cpp library of a system; undefined where there is none. */
export function libraryPackage(system: { readonly platform: string; readonly arch: string }): string | undefined {
  const name = packages[`${system.platform}-${system.arch}`];
  return name && `@node-llama-cpp/${name}`;
}

/** Why llama.cpp could not be loaded, and what to do: its own error does not tell missing from refused libraries. */
export async function toLibraryFault(cause: unknown): Promise<Fault> {
  return new Fault('MODEL_LOAD_FAILED', await describeProblem(cause), { cause });
}

async function describeProblem(cause: unknown): Promise<string> {
  const { platform, arch } = process;
  const name = libraryPackage(process);
  if (name === undefined) return `there is no prebuilt llama.cpp library for ${platform} on ${arch}`;
  if (platform === 'linux' && !hasGlibc())
    return `the llama.cpp library of ${name} needs glibc, which this system lacks (as Alpine does): use another Linux`;
  const file = await findLibrary(name);
  if (file === undefined)
    return (
      `the llama.cpp library is missing: the npm package ${name} is not installed; ` +
      `run npm install again without --omit=optional, --os and --cpu, or npm install ${name} in the version of node-llama-cpp`
    );
  const reason = (await findLoadError(file)) ?? describeError(cause);
  const hint =
    platform === 'win32'
      ? 'install the Microsoft Visual C++ Redistributable (https://aka.ms/vs/17/release/vc_redist.x64.exe), or reinstall the package'
      : 'install what the system lacks, or reinstall the package';
  return `the llama.cpp library of the npm package ${name} cannot be loaded (${reason}): ${hint}`;
}

function hasGlibc(): boolean {
  const { header } = Object(process.report?.getReport()) as { readonly header?: { glibcVersionRuntime?: string } };
  return header?.glibcVersionRuntime !== undefined;
}

const addonFile = 'llama-addon.node';

async function findLibrary(name: string): Promise<string | undefined> {
  try {
    const require = createRequire(fileURLToPath(import.meta.resolve('node-llama-cpp')));
    const bins = join(dirname(require.resolve(name)), '..', 'bins');
    const folders = await readdir(bins);
    return folders.map((folder) => join(bins, folder, addonFile)).find((file) => existsSync(file));
  } catch {
    return undefined;
  }
}

const maxLoadMs = 10_000;

/** The error of loading a native addon. In a child process, because the addon may end the process that loads it. */
async function findLoadError(file: string): Promise<string | undefined> {
  const env = { ...process.env, ELECTRON_RUN_AS_NODE: '1' };
  const script = 'try { require(process.argv[1]) } catch (error) { process.stdout.write(error.message); }';
  try {
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', script, file], { env, timeout: maxLoadMs });
    return stdout.split('\n')[0] || undefined;
  } catch (error) {
    const { signal } = Object(error) as { readonly signal?: unknown };
    return typeof signal === 'string' ? `it ended a process that loaded it with ${signal}` : undefined;
  }
}

/** Why a backend cannot be used here, and what can. @param device the only card: Vulkan is not loaded without one. */
export async function unavailableBackendFault(
  gpu: GpuChoice,
  { cause, device }: { readonly cause?: unknown; readonly device?: number | undefined } = {},
): Promise<Fault> {
  const types = await getLlamaGpuTypes('supported').catch(() => []);
  const available = ['auto', 'off', ...types.filter((type) => type !== false && type !== gpu)];
  const listed = available.map((name) => `"${name}"`).join(', ');
  const noCard = device === undefined ? '' : `${noSuchCard(gpu, device)}; or `;
  const message =
    `${noCard}the GPU backend "${gpu}" is not available on this machine: choose one of ${listed} with --gpu, or as gpu of the model ` +
    `in models.json, or ${installHint(gpu)}`;
  return new Fault('MODEL_LOAD_FAILED', message, { cause });
}

const noSuchCard = (gpu: GpuChoice, device: number): string =>
  `--gpu-device ${device}: there is no such graphics card for ${gpu}; cards count from 0`;

function installHint(gpu: GpuChoice): string {
  const name = libraryPackage(process);
  if (gpu === 'metal') return 'use a Mac with an Apple processor';
  return name === undefined
    ? 'use another machine'
    : `install the npm package ${name}-${gpu} and the driver of the card`;
}

/**
 * Checks that the library runs on what was asked for: it takes another backend instead of one that a system never has, one whose
 * driver finds no card, and the CPU where the named device is none.
 * @throws Fault MODEL_LOAD_FAILED
 */
export async function assertBackend(llama: Llama, gpu: GpuChoice, device: number | undefined): Promise<void> {
  if (gpu === 'off') return;
  if (gpu !== 'auto' && llama.gpu !== gpu) throw await unavailableBackendFault(gpu);
  if (gpu === 'auto' && device === undefined) return;
  if ((await cardsOf(llama)).length > 0) return;
  if (device === undefined) throw await unavailableBackendFault(gpu);
  throw new Fault(
    'MODEL_LOAD_FAILED',
    llama.gpu === false
      ? `--gpu-device ${device}: there is no graphics card that can be used; leave --gpu-device out, or use --gpu off`
      : noSuchCard(llama.gpu, device),
  );
}

/** The names of the graphics cards that the library uses. A backend may be there without one. */
export const cardsOf = async (llama: Llama): Promise<readonly string[]> =>
  llama.gpu === false ? [] : await llama.getGpuDeviceNames();
