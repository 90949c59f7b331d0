import type { ReactNode } from 'react';
import { callWait } from './callWait.ts';
import { formatMs } from './formatFigures.ts';
import { stopText } from './turnNotes.ts';
import type { TurnRecord } from './turnRecord.ts';
import { useNow } from './useNow.ts';

/** The last line of a turn: what it does, or its figures. @param children a button. */
export function TurnFoot({ turn, children }: { readonly turn: TurnRecord; readonly children: ReactNode }) {
  return (
    <div className="conversation-foot">
      {turn.endedAt === undefined ? <Running turn={turn} /> : <Figures turn={turn} />}
      {children}
    </div>
  );
}

function Running({ turn }: { readonly turn: TurnRecord }) {
  const now = useNow(true);
  const visit = turn.visits.at(-1);
  const waits = turn.calls.some((call) => callWait(turn, call) === 'open');
  return (
    <span className="conversation-running">
      {visit ? (
        <>
          <span className="conversation-node">{visit.node}</span> {waits ? 'waits for results' : 'runs'}
        </>
      ) : (
        'sent'
      )}
      <span className="muted">
        {' '}
        · turn {turn.number} · {formatMs(Math.max(0, now - turn.startedAt))}
      </span>
    </span>
  );
}

function Figures({
  turn: { number, summary, startedAt, endedAt = startedAt, priority },
}: {
  readonly turn: TurnRecord;
}) {
  const stopped = summary && stopText(summary);
  const figures = [
    `turn ${number}`,
    priority === 'NORMAL' ? undefined : priority.toLowerCase(),
    formatMs(summary?.durationMs ?? endedAt - startedAt),
    summary && summary.tokens.generated > 0 ? `${summary.tokens.generated} tokens` : undefined,
    stopped === 'end' ? undefined : stopped,
  ];
  return <span className="muted">{figures.filter(Boolean).join(' · ')}</span>;
}
