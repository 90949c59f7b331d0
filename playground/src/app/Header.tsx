import { useEffect, useState } from 'react';
import { fetchWithToken, useConnection } from '../connection/connectionStore.ts';
import { useDocument } from '../document/documentStore.ts';

/** The bar at the top: which graph is open, and the state of the connection. */
export function Header() {
  const { status } = useConnection();
  const { name, open } = useDocument();
  const [names, setNames] = useState<readonly string[]>([]);
  useEffect(() => {
    if (status.state === 'connected') void listGraphs().then(setNames);
  }, [status.state]);
  const openGraph = async (graph: string): Promise<void> => {
    const answer = await fetchWithToken(`/graphs/${encodeURIComponent(graph)}`);
    if (answer.ok) open(graph, `${JSON.stringify(await answer.json(), null, 2)}\n`);
  };
  return (
    <header>
      <h1>turngraph</h1>
      <label>
        Graph
        <select value={name} onChange={(event) => void openGraph(event.target.value)}>
          <option value="">…</option>
          {names.map((graph) => (
            <option key={graph}>{graph}</option>
          ))}
        </select>
      </label>
      <output aria-label="Connection">{status.state}</output>
    </header>
  );
}

async function listGraphs(): Promise<readonly string[]> {
  const answer = await fetchWithToken('/graphs');
  const { graphs = [] } = (await answer.json()) as { readonly graphs?: readonly string[] };
  return graphs;
}
