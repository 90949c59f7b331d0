import { readdirSync, readFileSync } from 'node:fs';
import { defineConfig, type TestProjectConfiguration } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// The folder or the ending of a file says that it is slow: it loads a model, starts processes, or needs `dist`.
const isSlow = (path: string): boolean =>
  /^test\/(?:cli|e2e|model|scripts|weights|integration\/conformance)\//.test(path) || path.endsWith('.slow.test.ts');

// These need a process of their own: a mock replaces a module for all who import it later, and a reset forgets all modules. The
// others share modules, of which each is imported once by a worker: most of their time was that of imports.
const needsOwnProcess = (path: string): boolean => /\bvi\.(?:mock|resetModules)\(/.test(readFileSync(path, 'utf8'));

const files = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .map((path) => `test/${path.replaceAll('\\', '/')}`)
  .filter((path) => path.endsWith('.test.ts'));

// Those that take longest, by processor time and waits: the longest would begin among the last, and the other workers would have
// nothing to do while it runs. vitest begins with the largest files.
const longFiles = [
  // In a process that is still small: it counts what is in memory.
  'test/integration/stoppedTurns.slow.test.ts',
  'test/scripts/chaos.test.ts',
  'test/e2e/samples.test.ts',
  'test/e2e/tutorial.test.ts',
  'test/e2e/playground.test.ts',
  'test/e2e/clients/python.test.ts',
  'test/e2e/bundle.test.ts',
  'test/model/checkpoints.test.ts',
  'test/model/engineProcess.test.ts',
  'test/cli/missingLibrary.test.ts',
  'test/cli/serve.test.ts',
  'test/e2e/clients/browser.test.ts',
  'test/e2e/clients/godot.test.ts',
  'test/e2e/clients/unity.test.ts',
  'test/e2e/playgroundLimits.test.ts',
  'test/unit/chat/reply/detect/detect.test.ts',
  'test/patterns.slow.test.ts',
];

// A worker keeps its modules only from one file to the next of the same project, so these run one after the other. The many short
// files are the last: with them all workers end at about the same time.
const projectOrder = ['slow', 'slow-isolated', 'fast-isolated', 'fast'];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification): number => {
      const index = longFiles.findIndex((path) => moduleId.endsWith(`/${path}`));
      return index < 0 ? longFiles.length + projectOrder.indexOf(project.name) : index;
    };
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}

/** Whether another file does the same at full size. */
const hasSlowTwin = (path: string): boolean => files.includes(path.replace('.test.ts', '.slow.test.ts'));

const isShuffled = process.argv.some((argument) => argument.startsWith('--sequence.shuffle'));

/** `vitest run --mode whole` runs the fast files as the slow ones always run: with both codecs and full sizes. */
function projects(isWhole: boolean): readonly TestProjectConfiguration[] {
  return (['fast', 'slow'] as const).flatMap((speed) =>
    [false, true].flatMap((isolate) => {
      const include = files.filter(
        (path) =>
          isSlow(path) === (speed === 'slow') && needsOwnProcess(path) === isolate && !(isWhole && hasSlowTwin(path)),
      );
      if (include.length === 0) return [];
      const env = {
        TURNGRAPH_TEST_DEPTH: isWhole || speed === 'slow' ? 'whole' : 'short',
        // For the processes of slow tests, as the test server has it: no thread waits for another, and none is benchmarked.
        ...(speed === 'slow' && { TURNGRAPH_THREADS: '1' }),
      };
      const name = isolate ? `${speed}-isolated` : speed;
      // In a random order one project runs after the other.
      const sequence = isShuffled ? { groupOrder: projectOrder.indexOf(name) } : {};
      return [{ extends: true as const, test: { name, include, isolate, env, sequence } }];
    }),
  );
}

// Timeouts only end a test that hangs: no test depends on the speed of the machine.
export default defineConfig(({ mode }) => ({
  test: {
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
    // Four more than the cores of a small machine: many tests wait for other processes.
    maxWorkers: 6,
    experimental: { fsModuleCache: true },
    globalSetup: 'test/helpers/testLibrariesOnce.ts',
    ...(!isShuffled && { sequence: { sequencer: LongestFirst } }),
    projects: [...projects(mode === 'whole')],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts', 'conformance/**/*.ts'],
      exclude: ['**/*.gen.ts', 'conformance/vite.config.ts'],
      reporter: ['text-summary', 'html'],
    },
  },
}));
