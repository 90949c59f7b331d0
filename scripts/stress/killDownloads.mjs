// node scripts/stress/killDownloads.mjs [--bytes N] [--kills N] [--seed N]: kills a running download repeatedly (crash test).
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    bytes: { type: 'string', default: '200000000' },
    kills: { type: 'string', default: '20' },
    seed: { type: 'string', default: String((Date.now() % 2 ** 31) + 1) },
  },
});
console.log(`${values.kills} kills in ${values.bytes} bytes, seed ${values.seed}`);
const vitest = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url));
const { status } = spawnSync(process.execPath, [vitest, 'run', 'test/integration/download/crash.slow.test.ts'], {
  cwd: fileURLToPath(new URL('../..', import.meta.url)),
  env: { ...process.env, KILLED_BYTES: values.bytes, KILLS: values.kills, KILL_SEED: values.seed },
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
