import { memo, useMemo, useState } from 'react';
import { Button } from '../ui/Button.tsx';
import { outcomeSentence, shownArguments, type ShownArgument } from './callArguments.ts';
import type { callWait } from './callWait.ts';
import { useDraft } from './draftStore.ts';
import { ResultForm } from './ResultForm.tsx';
import type { CallRecord } from './turnRecord.ts';

/** Properties of the card of a call. */
export interface CallCardProps {
  readonly agentKey: number;
  readonly record: CallRecord;
  /** Whether it can take a result. */
  readonly wait: ReturnType<typeof callWait>;
  /** How long its node waits for a result, in milliseconds. */
  readonly waitLimitMs: number;
}

/** A call: its tool, its typed arguments, what is wrong with them, and its result. */
export const CallCard = memo(function CallCard({ agentKey, record, wait, waitLimitMs }: CallCardProps) {
  const { call, result } = record;
  const { toolName, typedArgumentsJson, issues, awaitsResult, known, repaired, consequential, because, confidence } =
    call;
  const args = useMemo(() => shownArguments(typedArgumentsJson), [typedArgumentsJson]);
  const shown = new Set(args.map(({ name }) => name));
  const ofCall = issues.filter(({ param }) => !shown.has(param));
  return (
    <article className="conversation-call" aria-label={`Call ${toolName}`}>
      <header>
        <strong className="mono">{toolName}</strong>
        {!known && <Badge tone="error" text="unknown tool" />}
        {consequential && <Badge tone="warn" text="consequential" title="Ask the user before you run it." />}
        {repaired && <Badge tone="warn" text="repaired" title="Only the lenient parser could read the call." />}
        {because !== '' && <Badge text={`because ${because}`} />}
        {confidence !== undefined && (
          <Badge text={`${Math.floor(confidence * 100)} %`} title="Confidence: how probable the call is." />
        )}
      </header>
      {args.length === 0 ? (
        <p className="muted">no arguments</p>
      ) : (
        <ul aria-label="Arguments">
          {args.map((arg) => (
            <Argument key={arg.name} {...arg} issues={issues.filter(({ param }) => param === arg.name)} />
          ))}
        </ul>
      )}
      {ofCall.map(({ code, param, message }) => (
        <p key={`${code} ${param}`} className="conversation-issue">
          {message}
        </p>
      ))}
      {result && <GivenResultLine {...result} />}
      {wait === 'open' && <ResultForm agentKey={agentKey} record={record} waitLimitMs={waitLimitMs} />}
      {wait === 'over' && <p className="muted">The turn got no result for this call.</p>}
      {!awaitsResult && <NextMessage toolName={toolName} args={args} />}
      <CallJson record={record} />
    </article>
  );
});

function Argument({ name, value, type, issues }: ShownArgument & { readonly issues: CallRecord['call']['issues'] }) {
  return (
    <li>
      <span className="conversation-argument-name">{name}</span>: <span className="conversation-value">{value}</span>{' '}
      <span className="conversation-type">{type}</span>
      {issues.map(({ code, message }) => (
        <p key={code} className="conversation-issue">
          {message}
        </p>
      ))}
    </li>
  );
}

function Badge({ text, tone, title }: { readonly text: string; readonly tone?: string; readonly title?: string }) {
  return (
    <span className="conversation-badge" data-tone={tone} title={title}>
      {text}
    </span>
  );
}

function GivenResultLine({ ok, content, lifespan }: NonNullable<CallRecord['result']>) {
  return (
    <p className="conversation-result" data-ok={ok}>
      <span className="muted">{ok ? 'Result' : 'Failed'}</span> <span className="conversation-value">{content}</span>
      {lifespan === 'DIALOG' && <Badge text="kept in the dialog" />}
    </p>
  );
}

function NextMessage({ toolName, args }: { readonly toolName: string; readonly args: readonly ShownArgument[] }) {
  const addSentence = useDraft((store) => store.addSentence);
  return (
    <p className="conversation-next">
      <span className="muted">The next message tells the model what came of it.</span>{' '}
      <Button size="small" onClick={() => addSentence(outcomeSentence(toolName, args))}>
        Put into the message
      </Button>
    </p>
  );
}

function CallJson({ record: { call } }: { readonly record: CallRecord }) {
  const [open, setOpen] = useState(false);
  return (
    <details className="conversation-raw" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>raw</summary>
      {open && <pre>{JSON.stringify(call, null, 2)}</pre>}
    </details>
  );
}
