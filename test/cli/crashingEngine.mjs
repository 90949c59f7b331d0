// Ends an engine process by SIGSEGV, as native code does. CRASH_AT is the name of a request, `name:number` for a later one;
// with `:unread` the process ends before it has confirmed it.
const [name, number = '1', when] = (process.env.CRASH_AT ?? '').split(':');
let left = Number(number);

if (process.argv[1]?.endsWith('child.js')) {
  const { on, send } = process;
  const crash = () => process.kill(process.pid, 'SIGSEGV');
  const isReached = (messages) =>
    messages.some(([kind, , request]) => kind === 'request' && request === name && --left === 0);
  process.on = function (event, listener) {
    if (event !== 'message') return on.call(this, event, listener);
    return on.call(this, event, (messages) => {
      if (isReached(messages)) {
        if (when === 'unread') crash();
        // The confirmation is what is sent next.
        process.send = (confirmation) => send.call(process, confirmation, undefined, undefined, crash);
      }
      listener(messages);
    });
  };
}
