import { readdirSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// These need a process of their own: a mock replaces a module for all who import it later.
const needsOwnProcess = /\bvi\.mock\(/;

// These share modules, of which each is imported once by a worker: most of their time was that of imports.
const sharedFiles = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .map((path) => `test/${path.replaceAll('\\', '/')}`)
  .filter((path) => path.endsWith('.test.ts') && !needsOwnProcess.test(readFileSync(path, 'utf8')));

// The files that take longest, by processor time and waits. vitest begins with the largest ones: the longest would begin among
// the last, and the other workers would have nothing to do while it runs.
const longFiles = [
  'test/scripts/chaos.test.ts',
  'test/model/engineProcess.test.ts',
  'test/e2e/bundle.test.ts',
  'test/e2e/samples.test.ts',
  'test/contracts/engine.test.ts',
  'test/scripts/testInfo.test.ts',
  'test/e2e/clients/unity.test.ts',
  'test/e2e/clients/godot.test.ts',
  'test/model/supervision.test.ts',
  'test/cli/missingLibrary.test.ts',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const index = longFiles.findIndex((path) => moduleId.endsWith(`/${path}`));
      return index < 0 ? longFiles.length : index;
    };
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}

const isShuffled = process.argv.some((argument) => argument.startsWith('--sequence.shuffle'));

// Timeouts only end a test that hangs: no test depends on the speed of the machine.
export default defineConfig({
  test: {
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // One more than the two cores of a small machine: many tests wait for other processes.
    maxWorkers: 3,
    globalSetup: 'test/helpers/testLibrariesOnce.ts',
    ...(!isShuffled && { sequence: { sequencer: LongestFirst } }),
    // Groups run one after the other, because a worker keeps its modules only from one file to the next of the same project.
    projects: [
      { extends: true, test: { name: 'shared', include: sharedFiles, isolate: false, sequence: { groupOrder: 0 } } },
      {
        extends: true,
        test: { name: 'isolated', include: ['test/**/*.test.ts'], exclude: sharedFiles, sequence: { groupOrder: 1 } },
      },
    ],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: ['**/*.gen.ts'],
      reporter: ['text-summary', 'html'],
    },
  },
});
