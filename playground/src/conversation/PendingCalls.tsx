import { useState } from 'react';
import { Button } from '../ui/Button.tsx';
import { useAgents } from './agentStore.ts';
import { emptyResult, useResultDrafts } from './resultDraftStore.ts';
import type { CallRecord } from './turnRecord.ts';

/** Properties of the button that answers all calls. */
export interface PendingCallsProps {
  readonly agentKey: number;
  /** Those that can take a result. */
  readonly pending: readonly CallRecord[];
}

/** Where a turn waits for the results of several calls: sends what is written for them all at once. */
export function PendingCalls({ agentKey, pending }: PendingCallsProps) {
  const submitResults = useAgents((store) => store.submitResults);
  const drafts = useResultDrafts((store) => store.drafts);
  const [refusal, setRefusal] = useState<string>();
  if (pending.length < 2) return null;
  const results = pending.map(({ call: { callId } }) => ({ callId, ...(drafts[callId] ?? emptyResult) }));
  const submit = (): void => {
    setRefusal(undefined);
    submitResults(agentKey, results).catch((thrown: unknown) =>
      setRefusal(thrown instanceof Error ? thrown.message : String(thrown)),
    );
  };
  return (
    <div className="conversation-pending">
      <span className="muted">The turn waits for {pending.length} results.</span>
      <Button size="small" onClick={submit}>
        Send all results
      </Button>
      {refusal !== undefined && <p className="conversation-issue">{refusal}</p>}
    </div>
  );
}
