import { connect, Fault, type Client } from '../../../src/client/index.ts';
import { socketUrl, tokenOption } from '../connection/connectionStore.ts';
import type { GraphFault } from './graphDocument.ts';

/**
 * Checks graphs with the server's own rules: a session on the mock engine compiles each as an agent, which needs no model
 * in memory. So the page knows no rule of its own, and node types of extensions are checked as well.
 */
export class GraphCheck {
  #client: Promise<Client> | undefined;
  #last = 0;

  /** @returns undefined when a later check was asked for in the meantime, or the server could not be asked. */
  async check(text: string, defaultModelName = ''): Promise<readonly GraphFault[] | undefined> {
    const number = ++this.#last;
    try {
      const client = await (this.#client ??= openMockSession());
      const faults = await compile(client, text, defaultModelName);
      return number === this.#last ? faults : undefined;
    } catch {
      this.close();
      return undefined;
    }
  }

  close(): void {
    void this.#client?.then((client) => client.close()).catch(() => {});
    this.#client = undefined;
  }
}

async function openMockSession(): Promise<Client> {
  const client = await connect(socketUrl(), { codec: 'json', ...tokenOption(), reconnect: false });
  await client.configure({ engine: 'mock' });
  return client;
}

const faultCodes: readonly string[] = ['GRAPH_COMPILATION_FAILED', 'INVALID_EXIT_TARGET'];

async function compile(client: Client, graph: string, defaultModelName: string): Promise<readonly GraphFault[]> {
  try {
    await using agent = await client.createAgent({ graph, defaultModelName });
    return agent.warnings.map((message) => ({ pointer: '', message, severity: 'warning' }));
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    if (thrown.name === 'CONNECTION_DROPPED') throw thrown;
    const { message, detail } = thrown;
    if (!faultCodes.includes(thrown.name) || !detail) return [{ pointer: '', message, severity: 'error' }];
    const faults = JSON.parse(String(detail)) as readonly { readonly pointer: string; readonly message: string }[];
    return faults.map((fault) => ({ pointer: fault.pointer, message: fault.message, severity: 'error' }));
  }
}
