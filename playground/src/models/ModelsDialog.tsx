import { useEffect, useState } from 'react';
import { useConnection } from '../connection/connectionStore.ts';
import { Dialog } from '../ui/Dialog.tsx';
import { ModelItem } from './ModelItem.tsx';
import { useModels } from './modelStore.ts';
import { SuggestedModels } from './SuggestedModels.tsx';
import { filterModels } from './modelText.ts';
import { isOnDisk } from './preferredModel.ts';
import './models.css';

const refreshMs = 2000;

/** The models of the server's catalogue, with their memory and what can be done with them. It is read again while it is open. */
export function ModelsDialog({ onClose }: { readonly onClose: () => void }) {
  const { models, fault, refresh } = useModels();
  const isConnected = useConnection(({ status }) => status.state === 'connected');
  const [filter, setFilter] = useState('');
  useEffect(() => {
    if (!isConnected) return undefined;
    void refresh();
    const timer = setInterval(() => void refresh(), refreshMs);
    return () => clearInterval(timer);
  }, [isConnected, refresh]);
  const shown = filterModels(models, filter);
  const groups = [
    { title: 'On disk', models: shown.filter(isOnDisk) },
    { title: 'To download', models: shown.filter((model) => !isOnDisk(model)) },
  ].filter((group) => group.models.length > 0);
  return (
    <Dialog title="Models" size="wide" onClose={onClose} className="models-dialog">
      <input
        type="search"
        aria-label="Filter models"
        placeholder="Filter by name, status or format"
        value={filter}
        onChange={(event) => setFilter(event.target.value)}
      />
      {fault !== undefined && (
        <p className="models-fault" role="alert">
          The catalogue could not be read: {fault}
        </p>
      )}
      <SuggestedModels />
      {groups.map((group) => (
        <section key={group.title} className="models-group" aria-label={group.title}>
          <h3>
            {group.title} <span className="muted">{group.models.length}</span>
          </h3>
          <ul>
            {group.models.map((model) => (
              <li key={model.name}>
                <ModelItem model={model} />
              </li>
            ))}
          </ul>
        </section>
      ))}
      {groups.length === 0 && (
        <p className="muted">{filter === '' ? 'The catalogue is empty.' : 'No model matches.'}</p>
      )}
    </Dialog>
  );
}
