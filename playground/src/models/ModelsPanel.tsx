import { useEffect, useState } from 'react';
import type { ModelInfo } from '../../../src/client/index.ts';
import { useConnection } from '../connection/connectionStore.ts';

/** The models of the server's catalogue. */
export function ModelsPanel() {
  const client = useConnection(({ client }) => client);
  const [models, setModels] = useState<readonly ModelInfo[]>([]);
  useEffect(() => {
    void client?.listModels().then(setModels, () => setModels([]));
  }, [client]);
  return (
    <section className="models" aria-label="Models">
      <ul>
        {models.map(({ name, status }) => (
          <li key={name}>
            {name}: {status}
          </li>
        ))}
      </ul>
    </section>
  );
}
