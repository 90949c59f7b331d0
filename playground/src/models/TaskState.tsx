import { useModels } from './modelStore.ts';
import { progressText } from './modelText.ts';

/** How far a load or a download of a model is, and why its last action failed. */
export function TaskState({ name }: { readonly name: string }) {
  const task = useModels(({ tasks }) => tasks[name]);
  const fault = useModels(({ faults }) => faults[name]);
  return (
    <>
      {(task?.kind === 'loading' || task?.kind === 'downloading') && (
        <div className="models-progress">
          <progress value={task.progress?.fraction} aria-label={`${task.kind} ${name}`} />
          <span>{progressText(task)}</span>
        </div>
      )}
      {fault !== undefined && (
        <p className="models-fault" role="alert">
          {fault}
        </p>
      )}
    </>
  );
}
