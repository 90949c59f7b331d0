// Ends an engine process by SIGSEGV, as native code does. CRASH_AT is the name of a request, or `name:number` for a later one.
const [name, number = '1'] = (process.env.CRASH_AT ?? '').split(':');
let left = Number(number);

if (process.argv[1]?.endsWith('child.js')) {
  const { on } = process;
  process.on = function (event, listener) {
    if (event !== 'message') return on.call(this, event, listener);
    return on.call(this, event, (messages) => {
      for (const [kind, , request] of messages) {
        if (kind === 'request' && request === name && --left === 0) process.kill(process.pid, 'SIGSEGV');
      }
      listener(messages);
    });
  };
}
