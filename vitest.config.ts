import { readdirSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';

const replacesModules = (file: string): boolean => /\bvi\.mock\(/.test(readFileSync(file, 'utf8'));

/** Test files that replace a module: each needs a process of its own, where nothing has loaded that module before. */
const mocking = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .map((file) => `test/${file.replaceAll('\\', '/')}`)
  .filter((file) => file.endsWith('.test.ts') && replacesModules(file));

/** A folder of tests whose files share processes, and so load the modules of `src/` once. */
const shared = (name: string) => ({
  extends: true as const,
  test: { name, include: [`test/${name}/**/*.test.ts`], exclude: mocking, isolate: false },
});

/** A folder of tests whose files have a process each. */
const isolated = (name: string, ...include: readonly string[]) => ({
  extends: true as const,
  test: { name, include: [...include] },
});

// Timeouts only end a test that hangs: no test depends on the speed of the machine.
export default defineConfig({
  test: {
    testTimeout: 300_000,
    hookTimeout: 300_000,
    maxWorkers: 2,
    projects: [
      shared('unit'),
      shared('integration'),
      isolated('mocks', ...mocking),
      ...['contracts', 'model', 'cli', 'e2e', 'scripts', 'helpers'].map((name) =>
        isolated(name, `test/${name}/**/*.test.ts`),
      ),
      isolated('source', 'test/*.test.ts'),
    ],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: ['**/*.gen.ts'],
      reporter: ['text-summary', 'html'],
    },
  },
});
