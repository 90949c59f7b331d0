import { defineConfig } from 'vitest/config';

// Timeouts only end a test that hangs: no test depends on the speed of the machine.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    maxWorkers: 2,
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: ['**/*.gen.ts'],
      reporter: ['text-summary', 'html'],
    },
  },
});
