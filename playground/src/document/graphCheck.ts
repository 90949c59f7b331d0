import { connect, Fault, type Client } from '../../../src/client/index.ts';
import { socketUrl, tokenOption } from '../connection/connectionStore.ts';
import { warningPointer } from './faultPlace.ts';
import { namedTools, parseGraph, type GraphFault } from './graphDocument.ts';

/**
 * Checks graphs with the server's own rules: a session on the mock engine compiles each as an agent, which needs no model
 * in memory. So the page knows no rule of its own, and node types of extensions are checked as well.
 */
export class GraphCheck {
  #client: Promise<Client> | undefined;
  #last = 0;

  /** @returns undefined when a later check was asked for in the meantime, or the server could not be asked. */
  async check(text: string): Promise<readonly GraphFault[] | undefined> {
    const number = ++this.#last;
    const isNew = this.#client === undefined;
    const faults = await this.#ask(text);
    if (number !== this.#last) return undefined;
    // The server may have ended a session that was opened long ago.
    return faults ?? (isNew ? undefined : this.#ask(text));
  }

  close(): void {
    void this.#client?.then((client) => client.close()).catch(() => {});
    this.#client = undefined;
  }

  async #ask(text: string): Promise<readonly GraphFault[] | undefined> {
    try {
      return await compile(await (this.#client ??= openMockSession()), text);
    } catch {
      this.close();
      return undefined;
    }
  }
}

const connectionFaults: readonly string[] = ['CONNECTION_DROPPED', 'SERVER_SHUTTING_DOWN'];

async function openMockSession(): Promise<Client> {
  const client = await connect(socketUrl(), { codec: 'json', ...tokenOption(), reconnect: false });
  await client.configure({ engine: 'mock' });
  return client;
}

async function compile(client: Client, graph: string): Promise<readonly GraphFault[]> {
  try {
    await using agent = await client.createAgent({ graph, tools: namedTools(graph) });
    const names = Object.keys(parseGraph(graph).graph?.nodes ?? {});
    return agent.warnings.map((message) => ({
      pointer: warningPointer(message, names),
      message,
      severity: 'warning',
    }));
  } catch (thrown) {
    const isClosed = await Promise.race([client.closed.then(() => true), Promise.resolve(false)]);
    if (!(thrown instanceof Fault) || isClosed || connectionFaults.includes(thrown.name)) throw thrown;
    return detailFaults(thrown.detail) ?? [{ pointer: '', message: thrown.message, severity: 'error' }];
  }
}

/** All faults of a refused graph; undefined where the detail of the error has none. */
function detailFaults(detail: unknown): readonly GraphFault[] | undefined {
  if (typeof detail !== 'string' || !detail.startsWith('[')) return undefined;
  const faults = JSON.parse(detail) as readonly { readonly pointer: string; readonly message: string }[];
  return faults.map(({ pointer, message }) => ({ pointer, message, severity: 'error' }));
}
