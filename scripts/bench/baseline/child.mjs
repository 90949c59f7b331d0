// Child process of the baseline: opens a model, then runs operations one at a time.
import { openContext } from './context.mjs';
import { operations } from './operations.mjs';

let opened;

process.on('message', async ({ name, options }) => {
  try {
    if (name === 'open') opened = await openContext(options);
    const result =
      name === 'open' ? { threads: opened.context.currentThreads } : await operations[name](opened, options);
    process.send({ result });
  } catch (error) {
    process.send({ failure: error instanceof Error ? error.stack : String(error) });
  }
});
process.on('disconnect', () => process.exit());
