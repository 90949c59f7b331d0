import { useEffect, useState } from 'react';
import { useConnection } from '../connection/connectionStore.ts';
import { onDiskFirst } from '../models/preferredModel.ts';

/** The id of the list of models, for inputs. */
export const modelNamesId = 'inspector-model-names';

/** The models of the server, as suggestions for inputs. */
export function ModelNames() {
  const client = useConnection((store) => store.client);
  const [names, setNames] = useState<readonly string[]>([]);
  useEffect(() => {
    // Without the list the name can still be typed.
    void client?.listModels().then(
      (models) => setNames(onDiskFirst(models).map(({ name }) => name)),
      () => setNames([]),
    );
  }, [client]);
  return (
    <datalist id={modelNamesId}>
      {names.map((name) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  );
}
