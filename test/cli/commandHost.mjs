// Runs commands of the built CLI one after the other in one process, which loads their modules once. The parent sends
// { args, input, env, cwd } and receives { out, err, code }; "stop" tells a server to end, as SIGTERM does.
import { Readable } from 'node:stream';
import { runProgram } from '../../dist/cli/program.js';

const ownEnv = { ...process.env };
const { argv, exit } = process;
// A server that has stopped ends its process a second later, whatever is left of its log.
process.exit = () => undefined;

process.on('message', async (message) => {
  if (message === 'stop') return void process.emit('SIGTERM');
  const { args, input, env, cwd } = message;
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
process.on('disconnect', () => exit());
process.send('ready');
