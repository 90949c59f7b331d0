import { execFile, type PromiseWithChild } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll } from 'vitest';
import { checkRequirement, findPython, type requirements } from '../../helpers/requirements.mjs';
import { repositoryPath } from '../../helpers/server.ts';

const run = promisify(execFile);
const python = findPython('websockets', 'google.protobuf') ?? 'python3';

/** What starts programs with the Python client and its binary codec in their path. */
export interface PythonPrograms {
  /** A folder that is deleted after the tests. */
  readonly folder: () => string;
  /** Starts a file; warnings of Python are errors. */
  readonly start: (
    file: string,
    ...args: readonly string[]
  ) => PromiseWithChild<{ readonly stdout: string; readonly stderr: string }>;
  /** A command of the shell that starts a file, likewise. */
  readonly command: (file: string) => string;
  /** Runs a file of this folder. Returns the JSON that it prints. */
  readonly results: (name: string, ...args: readonly string[]) => Promise<Readonly<Record<string, unknown>>>;
}

/** Prepares the binary codec before the tests of a `describe`. */
export function usePython(requirement: keyof typeof requirements): PythonPrograms {
  let folder = '';
  beforeAll(async () => {
    checkRequirement(requirement);
    folder = await mkdtemp(join(tmpdir(), 'turngraph-python-'));
    await run('protoc', ['-I', repositoryPath('proto/turngraph/v1'), `--python_out=${folder}`, 'wire.proto']);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const variables = () => ({
    PYTHONPATH: [repositoryPath('examples/python'), folder].join(':'),
    PYTHONDONTWRITEBYTECODE: '1',
    PYTHONUTF8: '1',
  });
  const start: PythonPrograms['start'] = (file, ...args) =>
    run(python, ['-W', 'error', file, ...args], { env: { ...process.env, ...variables() } });
  return {
    folder: () => folder,
    start,
    command: (file) => {
      const assignments = Object.entries(variables()).map(([name, value]) => `${name}='${value}'`);
      return `${assignments.join(' ')} ${python} -W error '${file}'`;
    },
    results: async (name, ...args) => {
      const { stdout } = await start(repositoryPath(`test/e2e/clients/${name}`), ...args);
      return JSON.parse(stdout) as Readonly<Record<string, unknown>>;
    },
  };
}
