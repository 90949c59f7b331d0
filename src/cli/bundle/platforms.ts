/** The systems that a bundle can be made for. */
export const bundlePlatforms = ['linux-x64', 'linux-arm64', 'win-x64', 'win-arm64', 'mac-arm64', 'mac-x64'] as const;

/** One of `bundlePlatforms`. */
export type BundlePlatform = (typeof bundlePlatforms)[number];

/** The backends that a bundle can have: `off` = the CPU only. */
export const bundleGpus = ['off', 'vulkan', 'cuda', 'metal'] as const;

/** One of `bundleGpus`. */
export type BundleGpu = (typeof bundleGpus)[number];

/**
 * The npm packages with the llama.cpp library of each system, by backend. Those of a graphics card come
 * with that of the CPU: a computer without that card uses it.
 */
const libraries: Readonly<Record<BundlePlatform, Readonly<Partial<Record<BundleGpu, readonly string[]>>>>> = {
  'linux-x64': { off: ['linux-x64'], vulkan: ['linux-x64', 'linux-x64-vulkan'], cuda: ['linux-x64', 'linux-x64-cuda'] },
  'linux-arm64': { off: ['linux-arm64'] },
  'win-x64': { off: ['win-x64'], vulkan: ['win-x64', 'win-x64-vulkan'], cuda: ['win-x64', 'win-x64-cuda'] },
  'win-arm64': { off: ['win-arm64'] },
  'mac-arm64': { off: ['mac-arm64-metal'], metal: ['mac-arm64-metal'] },
  'mac-x64': { off: ['mac-x64'] },
};

/** The packages with the llama.cpp library. @throws Error that names the backends of the system, where it has not this one. */
export function libraryPackagesOf(platform: BundlePlatform, gpu: BundleGpu): readonly string[] {
  const names = libraries[platform][gpu];
  if (names) return names.map((name) => `@node-llama-cpp/${name}`);
  const available = Object.keys(libraries[platform]).join(', ');
  throw new Error(`--gpu ${gpu}: there is no llama.cpp library for ${gpu} on ${platform}; there is ${available}`);
}

const systems: Readonly<Record<string, string>> = { linux: 'linux', win32: 'win', darwin: 'mac' };

/** The name of a system as Node has it; undefined where no bundle can be made for it. */
export function platformOf({ platform, arch }: { readonly platform: string; readonly arch: string }) {
  const name = `${systems[platform] ?? platform}-${arch}`;
  return bundlePlatforms.find((known) => known === name);
}

/** Whether a bundle is for Windows. */
export const isWindows = (platform: BundlePlatform): boolean => platform.startsWith('win-');
