import { useId, useState } from 'react';
import { Button } from '../ui/Button.tsx';
import { useAgents } from './agentStore.ts';
import { jsonDoubt } from './callArguments.ts';
import { emptyResult, useResultDrafts, type ResultDraft } from './resultDraftStore.ts';
import type { CallRecord } from './turnRecord.ts';
import { useNow } from './useNow.ts';

/** Properties of the form of a result. */
export interface ResultFormProps {
  readonly agentKey: number;
  readonly record: CallRecord;
  /** How long the turn waits, in milliseconds. */
  readonly waitLimitMs: number;
}

/** Where the user writes the result of a call that awaits it. */
export function ResultForm({ agentKey, record: { call, at }, waitLimitMs }: ResultFormProps) {
  const id = useId();
  const submitResults = useAgents((store) => store.submitResults);
  const draft = useResultDrafts((store) => store.drafts[call.callId]) ?? emptyResult;
  const change = useResultDrafts((store) => store.change);
  const [refusal, setRefusal] = useState<string>();
  const set = (changed: Partial<ResultDraft>): void => change(call.callId, changed);
  const doubt = jsonDoubt(draft.content);
  const submit = (): void => {
    setRefusal(undefined);
    submitResults(agentKey, [{ callId: call.callId, ...draft }]).catch((thrown: unknown) =>
      setRefusal(thrown instanceof Error ? thrown.message : String(thrown)),
    );
  };
  return (
    <form
      className="conversation-result-form"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <label htmlFor={`${id}content`}>Result</label>
      <textarea
        id={`${id}content`}
        rows={1}
        className="mono"
        placeholder="text or JSON"
        value={draft.content}
        aria-describedby={refusal || doubt ? `${id}note` : undefined}
        aria-invalid={refusal !== undefined}
        onChange={(event) => set({ content: event.target.value })}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          submit();
        }}
      />
      {(refusal ?? doubt) !== undefined && (
        <p id={`${id}note`} className="conversation-issue">
          {refusal ?? doubt}
        </p>
      )}
      <TimeLeft endsAt={at + waitLimitMs} />
      <div className="conversation-result-row">
        <label>
          <input type="checkbox" checked={!draft.ok} onChange={(event) => set({ ok: !event.target.checked })} />
          failed
        </label>
        <label title="An equal call of a later turn is answered with it, and later prompts have it.">
          <input
            type="checkbox"
            checked={draft.lifespan === 'DIALOG'}
            onChange={(event) => set({ lifespan: event.target.checked ? 'DIALOG' : 'TURN' })}
          />
          keep in the dialog
        </label>
        <Button type="submit" size="small" variant="primary">
          Send result
        </Button>
      </div>
    </form>
  );
}

function TimeLeft({ endsAt }: { readonly endsAt: number }) {
  const leftMs = endsAt - useNow(true);
  return (
    <p className="conversation-time-left muted">
      {leftMs > 0
        ? `The turn waits ${Math.ceil(leftMs / 1000)} s more. Parameters: results_timeout_ms.`
        : 'The time for the result is over.'}
    </p>
  );
}
