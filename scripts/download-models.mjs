// npm run models:download -- NAME...: downloads models of the catalogue; the same as `turngraph models download`.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const cli = fileURLToPath(new URL('../dist/cli/turngraph.js', import.meta.url));
const child = spawn(process.execPath, [cli, 'models', 'download', ...process.argv.slice(2)], { stdio: 'inherit' });
// Ctrl-C reaches the child as well, which handles it.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => child.kill('SIGTERM'));
child.on('exit', (code) => process.exit(code ?? 1));
