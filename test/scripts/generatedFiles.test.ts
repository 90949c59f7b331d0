import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { repositoryPath } from '../helpers/server.ts';

it('the generated files are fresh', () => {
  const check = () =>
    execFileSync(process.execPath, ['scripts/gen.mjs', '--check'], { cwd: repositoryPath('.'), stdio: 'pipe' });
  expect(check).not.toThrow();
});
