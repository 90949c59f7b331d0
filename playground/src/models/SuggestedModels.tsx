import { useState } from 'react';
import { useSettings } from '../app/settingsStore.ts';
import type { SuggestedModel, SuggestModelsResponse } from '../../../src/client/index.ts';
import { Button } from '../ui/Button.tsx';
import { useModels } from './modelStore.ts';
import { isOnDisk } from './preferredModel.ts';
import { machineText, suggestionText } from './modelText.ts';
import { TaskState } from './TaskState.tsx';

/** A button that asks which models fit the computer of the server, and the answer, best first, to choose from. */
export function SuggestedModels() {
  const suggest = useModels((store) => store.suggest);
  const [answer, setAnswer] = useState<SuggestModelsResponse>();
  const [isAsking, setAsking] = useState(false);
  const ask = async (): Promise<void> => {
    setAsking(true);
    setAnswer(await suggest());
    setAsking(false);
  };
  return (
    <>
      <div>
        <Button icon="model" disabled={isAsking} onClick={() => void ask()}>
          Choose a model for this computer
        </Button>
      </div>
      {answer && (
        <section className="models-group" aria-label="Suggested models">
          <p className="muted">{machineText(answer)}</p>
          {answer.models.length === 0 && <p>No model of the catalogue fits.</p>}
          <ol>
            {answer.models.map((model) => (
              <li key={model.name}>
                <Suggestion model={model} />
              </li>
            ))}
          </ol>
          {answer.leftOut.length > 0 && (
            <details>
              <summary>
                {answer.leftOut.length === 1 ? '1 other does' : `${answer.leftOut.length} others do`} not fit
              </summary>
              <dl>
                {answer.leftOut.map(({ name, why }) => (
                  <div key={name}>
                    <dt>{name}</dt>
                    <dd className="muted">{why}</dd>
                  </div>
                ))}
              </dl>
            </details>
          )}
          {answer.more > 0 && <p className="muted">{answer.more} more are not shown: the catalogue is too large.</p>}
        </section>
      )}
    </>
  );
}

function Suggestion({ model }: { readonly model: SuggestedModel }) {
  const { name, downloadBytes } = model;
  const { defaultModelName, setDefaultModelName } = useSettings();
  const { models, tasks, download } = useModels();
  const isMissing = downloadBytes > 0 && !models.some((each) => each.name === name && isOnDisk(each));
  const choose = async (): Promise<void> => {
    if (isMissing && !(await download(name))) return;
    setDefaultModelName(name);
  };
  const isChosen = !isMissing && defaultModelName === name;
  return (
    <article className="models-item" aria-label={`Suggested: ${name}`}>
      <div className="models-title">
        <h4>{name}</h4>
      </div>
      <p className="muted">{suggestionText(model)}</p>
      <div className="models-actions">
        <Button size="small" disabled={isChosen || tasks[name] !== undefined} onClick={() => void choose()}>
          {isChosen ? 'Chosen' : isMissing ? 'Download and use' : 'Use'}
        </Button>
      </div>
      <TaskState name={name} />
    </article>
  );
}
