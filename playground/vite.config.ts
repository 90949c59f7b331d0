import { join } from 'node:path';
import { defineConfig } from 'vite';

const connectionFile = (name: string): string => join(import.meta.dirname, 'src/connection', name);

// The server reads the files from dist/playground: the page at /, all others below /playground/.
export default defineConfig({
  root: import.meta.dirname,
  // The page speaks JSON only, and runs no tools.
  resolve: {
    alias: [
      { find: /^\.\/binary\.ts$/, replacement: connectionFile('noBinaryCodec.ts') },
      { find: /^\.\.?\/argumentSchemas\.ts$/, replacement: connectionFile('noArgumentSchemas.ts') },
    ],
  },
  build: {
    outDir: '../dist/playground',
    emptyOutDir: true,
    assetsDir: 'playground',
    // An inlined file is a data: URL, which the page's Content-Security-Policy refuses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2023',
    // The notices of the packages that are bundled, which their licences ask for.
    license: { fileName: 'playground/licenses.txt' },
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      // What the page does not use of the client is left out, such as the executor with its validator of schemas.
      treeshake: { moduleSideEffects: [{ test: /\/src\/client\//, sideEffects: false }] },
      // "use client" of a package is for frameworks that render on a server.
      onwarn: (warning, warn) => warning.code !== 'MODULE_LEVEL_DIRECTIVE' && warn(warning),
    },
  },
  logLevel: 'warn',
});
