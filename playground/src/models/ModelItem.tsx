import { useId, useState } from 'react';
import type { ModelInfo } from '../../../src/client/index.ts';
import { ModelActions } from './ModelActions.tsx';
import { useModels } from './modelStore.ts';
import { catalogueDetails, memoryDetails, statusText, type ModelDetail } from './modelText.ts';
import { TaskState } from './TaskState.tsx';

/** A model: what it is, what it uses while it is loaded, and its actions. */
export function ModelItem({ model }: { readonly model: ModelInfo }) {
  const titleId = useId();
  const [isAsking, setAsking] = useState(false);
  const task = useModels(({ tasks }) => tasks[model.name]);
  const memory = memoryDetails(model);
  return (
    <article className="models-item" aria-labelledby={titleId} data-status={model.status}>
      <div className="models-title">
        <h4 id={titleId}>{model.name}</h4>
        <span className="models-status">{task ? `${task.kind}…` : statusText(model)}</span>
        {model.pinned && (
          <span className="models-badge" title="It stays in memory until it is unloaded">
            pinned
          </span>
        )}
      </div>
      <p className="muted">{model.description}</p>
      <Details label={`About ${model.name}`} details={catalogueDetails(model)} />
      {memory.length > 0 && <Details label={`Memory of ${model.name}`} details={memory} />}
      <ModelActions model={model} isAsking={isAsking} onAsk={setAsking} />
      <TaskState name={model.name} />
    </article>
  );
}

function Details({ label, details }: { readonly label: string; readonly details: readonly ModelDetail[] }) {
  return (
    <dl className="models-details" aria-label={label}>
      {details.map(({ label: term, value, hint }) => (
        <div key={term} title={hint}>
          <dt>{term}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
