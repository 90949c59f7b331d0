import { defineConfig, type Plugin } from 'vite';

const protocolFile = /^(?:\.\.\/)+src\/protocol\/(.+)\.ts$/;

/** The protocol stays that of the package: dist/conformance imports dist/protocol. */
const protocolOfThePackage: Plugin = {
  name: 'protocol-of-the-package',
  enforce: 'pre',
  resolveId: {
    filter: { id: protocolFile },
    handler: (source) => ({ id: source.replace(protocolFile, '../protocol/$1.js'), external: true }),
  },
};

// `turngraph conformance` loads dist/conformance/index.js.
export default defineConfig({
  root: import.meta.dirname,
  plugins: [protocolOfThePackage],
  build: {
    ssr: 'index.ts',
    outDir: '../dist/conformance',
    emptyOutDir: true,
    target: 'node20',
    minify: false,
  },
  logLevel: 'warn',
});
