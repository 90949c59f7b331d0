// npm run prepare: builds dist after `npm ci`. Without the dev dependencies (`npm ci --omit=dev`) it cannot be built: then an
// existing build is used as it is. The compiler itself may be there all the same, as an optional peer of a dependency.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const { resolve } = createRequire(join(process.cwd(), 'package.json'));
const isInstalled = (name) => {
  try {
    return resolve(`${name}/package.json`) !== '';
  } catch {
    return false;
  }
};

if (isInstalled('typescript') && isInstalled('@types/node') && isInstalled('@types/ws') && isInstalled('react-dom'))
  execFileSync('npm', ['run', 'build'], { stdio: 'inherit', shell: process.platform === 'win32' });
else if (!existsSync('dist'))
  console.error('turngraph is not built: the dev dependencies were left out. Run npm ci, then npm run build.');
