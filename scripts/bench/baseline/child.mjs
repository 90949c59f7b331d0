// The process of the bare loop: opens what it is told to, and measures what it is asked for, one thing at a time.
import { openContext } from './context.mjs';
import * as operations from './operations.mjs';

let opened;

process.on('message', async ({ name, given }) => {
  try {
    if (name === 'open') opened = await openContext(given);
    const result = name === 'open' ? { threads: opened.context.currentThreads } : await operations[name](opened, given);
    process.send({ result });
  } catch (error) {
    process.send({ failure: error instanceof Error ? error.stack : String(error) });
  }
});
process.on('disconnect', () => process.exit());
