import type { ModelInfo } from '../../../src/client/index.ts';
import { Button } from '../ui/Button.tsx';
import { useModels } from './modelStore.ts';

/** Properties of the actions of a model. */
export interface ModelActionsProps {
  readonly model: ModelInfo;
  /** Whether the user is asked about deleting it. */
  readonly isAsking: boolean;
  readonly onAsk: (isAsking: boolean) => void;
}

/** The actions that the status of a model allows. Deleting asks first. */
export function ModelActions({ model, isAsking, onAsk }: ModelActionsProps) {
  const { name, status, pinned, agents, huggingfaceRepo } = model;
  const { tasks, load, unload, download, cancelDownload, remove } = useModels();
  const kind = tasks[name]?.kind;
  if (isAsking)
    return (
      <div className="models-actions" role="group" aria-label={`Delete ${name}?`}>
        <span>Delete its files?</span>
        <Button
          size="small"
          variant="danger"
          onClick={() => {
            onAsk(false);
            void remove(name);
          }}
        >
          Delete files
        </Button>
        <Button size="small" autoFocus onClick={() => onAsk(false)}>
          Keep
        </Button>
      </div>
    );
  const isDownloading = kind === 'downloading' || kind === 'cancelling';
  const isOfOthers = status === 'DOWNLOADING' && !isDownloading;
  const isBusy = kind !== undefined;
  return (
    <div className="models-actions">
      {isDownloading && (
        <Button size="small" disabled={kind === 'cancelling'} onClick={() => void cancelDownload(name)}>
          Cancel download
        </Button>
      )}
      {isOfOthers && (
        <Button size="small" title="Another client downloads it" onClick={() => void download(name)}>
          Follow download
        </Button>
      )}
      {!isDownloading && status === 'ABSENT' && huggingfaceRepo !== '' && (
        <Button size="small" icon="download" disabled={isBusy} onClick={() => void download(name)}>
          Download
        </Button>
      )}
      {status !== 'ABSENT' && status !== 'DOWNLOADING' && !isDownloading && !pinned && (
        <Button size="small" disabled={isBusy} onClick={() => void load(name)}>
          {status === 'LOADED' ? 'Keep loaded' : 'Load'}
        </Button>
      )}
      {status === 'LOADED' && (pinned || agents === 0) && (
        <Button
          size="small"
          disabled={isBusy}
          title={agents > 0 ? 'It is freed when no agent uses it any more' : undefined}
          onClick={() => void unload(name)}
        >
          Unload
        </Button>
      )}
      {(status === 'DOWNLOADED' || (status === 'LOADED' && huggingfaceRepo !== '')) && (
        <Button size="small" variant="danger" icon="remove" disabled={isBusy} onClick={() => onAsk(true)}>
          Delete
        </Button>
      )}
    </div>
  );
}
