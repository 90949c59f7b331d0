// Runs commands of the built CLI one after the other in one process, which loads their modules once. The parent sends
// { args, input, env, cwd } and receives { out, err, code }.
import { Readable } from 'node:stream';
import { runProgram } from '../../dist/cli/program.js';

const ownEnv = { ...process.env };
const { argv } = process;

process.on('message', async ({ args, input, env, cwd }) => {
  const texts = { out: '', err: '' };
  const capture = (stream, name) => {
    stream.write = (chunk, encoding, done) => {
      texts[name] += String(chunk);
      const callback = typeof encoding === 'function' ? encoding : done;
      if (callback) process.nextTick(callback);
      return true;
    };
  };
  capture(process.stdout, 'out');
  capture(process.stderr, 'err');
  const stdin = Readable.from(input === '' ? [] : [Buffer.from(input)]);
  Object.defineProperty(process, 'stdin', { value: stdin, configurable: true });
  // In place: the system reads variables too, such as HOME.
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, ownEnv, env);
  process.chdir(cwd);
  process.argv = [argv[0], argv[1], ...args];
  process.exitCode = undefined;
  await runProgram();
  process.stdout.removeAllListeners('error');
  // Of a server that could not start.
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT']) process.removeAllListeners(signal);
  const code = process.exitCode ?? 0;
  process.exitCode = 0;
  process.send({ ...texts, code });
});
process.on('disconnect', () => process.exit());
process.send('ready');
