import { useId, useState, type SubmitEvent } from 'react';
import { ModelSelect } from '../models/ModelSelect.tsx';
import { useModels } from '../models/modelStore.ts';
import { preferredModel } from '../models/preferredModel.ts';
import { Button } from '../ui/Button.tsx';
import { Dialog } from '../ui/Dialog.tsx';
import { openDocument } from './documentActions.ts';
import { graphNameFault, graphStarts, newGraphText } from './newGraph.ts';

/** Asks for the name, the model and the first nodes of a new graph. */
export function NewGraphDialog({ onClose }: { readonly onClose: () => void }) {
  const formId = useId();
  const models = useModels((store) => store.models);
  const [name, setName] = useState('my-graph');
  const [model, setModel] = useState<string>();
  const [startId, setStartId] = useState('answer');
  const chosenModel = model ?? preferredModel(models)?.name ?? '';
  const fault = graphNameFault(name);
  const create = (event: SubmitEvent): void => {
    event.preventDefault();
    const start = graphStarts.find(({ id }) => id === startId);
    if (fault !== undefined || !start) return;
    onClose();
    openDocument({ name: name.trim(), text: newGraphText(start, chosenModel) });
  };
  return (
    <Dialog
      title="New graph"
      onClose={onClose}
      foot={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={formId} variant="primary" disabled={fault !== undefined}>
            Create
          </Button>
        </>
      }
    >
      <form id={formId} className="app-form" onSubmit={create}>
        <label className="app-field">
          <span>Name</span>
          <input
            value={name}
            autoComplete="off"
            spellCheck={false}
            aria-invalid={fault !== undefined}
            aria-describedby={`${formId}fault`}
            onChange={(event) => setName(event.target.value)}
            onFocus={(event) => event.target.select()}
          />
        </label>
        <p id={`${formId}fault`} className="app-fault">
          {fault}
        </p>
        <label className="app-field">
          <span>Model</span>
          <ModelSelect value={chosenModel} onChange={setModel} emptyLabel="none yet" />
        </label>
        <fieldset className="app-starts">
          <legend>Begin with</legend>
          {graphStarts.map(({ id, label, description }) => (
            <label key={id} className="app-start">
              <input
                type="radio"
                name="start"
                checked={id === startId}
                onChange={() => setStartId(id)}
                aria-describedby={`${formId}${id}`}
              />
              <span>{label}</span>
              <small id={`${formId}${id}`}>{description}</small>
            </label>
          ))}
        </fieldset>
      </form>
    </Dialog>
  );
}
