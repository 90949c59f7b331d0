import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { isSkipped, requirements } from '../helpers/requirements.mjs';
import { repositoryPath } from '../helpers/server.ts';

const run = promisify(execFile);
const cwd = repositoryPath('.');
type Name = keyof typeof requirements;
const names = Object.keys(requirements) as readonly Name[];

/** Runs scripts/test-info.mjs. Returns its lines. */
async function readInfo(env: Readonly<Record<string, string>> = {}): Promise<readonly string[]> {
  const { stdout } = await run(process.execPath, ['scripts/test-info.mjs'], { cwd, env: { ...process.env, ...env } });
  return stdout.trimEnd().split('\n');
}

interface VitestReport {
  readonly testResults: readonly { readonly assertionResults: readonly TestResult[] }[];
}
interface TestResult {
  readonly fullName: string;
  readonly status: string;
}

/** Runs the tests of some requirements. Returns which of them vitest skipped. */
async function readSkipped(among: readonly Name[], env: Readonly<Record<string, string>>): Promise<readonly Name[]> {
  const files = new Set(among.map((name) => requirements[name].file));
  const titles = among.map((name) => requirements[name].title).join('|');
  // One worker without isolation imports each module once: most of the time is that of imports.
  const once = ['--no-isolate', '--maxWorkers', '1'];
  const args = ['node_modules/vitest/vitest.mjs', 'run', ...files, '-t', titles, '--reporter', 'json', ...once];
  const { stdout } = await run(process.execPath, args, { cwd, env: { ...process.env, ...env } });
  const report = JSON.parse(stdout.slice(stdout.indexOf('{"'))) as VitestReport;
  const results = report.testResults.flatMap(({ assertionResults }) => assertionResults);
  return among.filter((name) => {
    const own = results.filter(({ fullName }) => fullName.includes(requirements[name].title));
    expect(own, name).not.toEqual([]);
    return own.every(({ status }) => status !== 'passed' && status !== 'failed');
  });
}

describe('what npm test says at its start', () => {
  it('is how long it takes, and each test that it skips with what is missing', async () => {
    const listed = names.filter(isSkipped);
    const [duration, heading, ...lines] = await readInfo();
    expect(duration).toMatch(/^The tests take about \d+ minutes on two cores/);
    expect(heading).toBe(listed.length === 0 ? 'None is skipped on this machine.' : 'Skipped on this machine:');
    expect(lines.map((line) => line.replace(/: .*/, ''))).toEqual(
      listed.map((name) => `- ${requirements[name].title} (${requirements[name].file})`),
    );
  });

  it('comes before anything is built', async () => {
    const { scripts } = JSON.parse(await readFile(repositoryPath('package.json'), 'utf8')) as {
      scripts: { test: string };
    };
    expect(scripts.test).toMatch(/^node scripts\/test-info\.mjs && /);
  });

  it('names the Python packages where there is no Python', async () => {
    const lines = await readInfo({ PATH: '/nowhere', TURNGRAPH_TEST_PYTHON: '', TURNGRAPH_TEST_WITHOUT: '' });
    expect(lines.find((line) => line.startsWith('- the Python client'))).toMatch(
      /no protobuf-compiler \(protoc\); apt-get install python3 /,
    );
  });

  it('lists none that must run', async () => {
    const lines = await readInfo({ PATH: '/nowhere', TURNGRAPH_TEST_PYTHON: '1' });
    expect(lines.join('\n')).not.toMatch(/Python client/);
  });

  it('is what vitest skips', async () => {
    const env = { TURNGRAPH_TEST_WITHOUT: names.join(','), TURNGRAPH_TEST_PYTHON: '', TURNGRAPH_TEST_CLIENTS: '' };
    const listed = (await readInfo(env)).slice(2);
    expect(listed).toHaveLength(names.length);
    expect(await readSkipped(names, env)).toEqual(names);
  });

  it('is not more than vitest skips', async () => {
    const present = names.filter((name) => requirements[name].file === 'test/unit/base/filesystem.test.ts');
    expect(await readSkipped(present, {})).toEqual(present.filter(isSkipped));
  });
});
