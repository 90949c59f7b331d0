// Starts a server in this process for an evaluation, and connects to it.
import { fileURLToPath } from 'node:url';
import { startServer } from 'turngraph';
import { connect } from 'turngraph/client';

/** The command-line options of a model to evaluate, see `readArguments`. */
export const serverOptions = {
  model: { type: 'string', default: 'turngraph-demo' },
  catalogue: { type: 'string', default: fileURLToPath(new URL('../../models.json', import.meta.url)) },
  threads: { type: 'string', default: '1' },
};

/**
 * Calls `use` with a client of a server that has the model loaded. A failure is printed and sets the exit code: a Fault has a
 * message for the user; anything else is a bug, and its stack is printed.
 */
export async function withClient({ model, catalogue, threads, storageRoot = '', memory = '' }, use) {
  try {
    const server = await startServer({
      port: 0,
      catalogue,
      threads: Number(threads),
      storageRoot,
      memory,
      logLevel: 'warn',
    });
    try {
      const client = await connect(server.url);
      await client.loadModel(model);
      await use(client);
      await client.close();
    } finally {
      await server[Symbol.asyncDispose]();
    }
  } catch (fault) {
    console.error(typeof fault.code === 'number' ? fault.message : fault);
    process.exitCode = 1;
  }
}

/** Calls `use` with an agent of its own for this graph, and destroys the agent. */
export async function withAgent(client, { model, graph, ...options }, use) {
  const agent = await client.createAgent({ graph: { default_model_name: model, ...graph }, ...options });
  try {
    return await use(agent);
  } finally {
    await agent.destroy().catch(() => {});
  }
}
