import { useMemo } from 'react';
import { formatMs, formatRate } from './formatFigures.ts';
import { stopText } from './turnNotes.ts';
import { timelineOf, type SegmentKind, type Timeline, type TimelineRow } from './timeline.ts';
import type { TurnRecord } from './turnRecord.ts';
import { useNow } from './useNow.ts';

const kinds: readonly { readonly kind: SegmentKind; readonly label: string }[] = [
  { kind: 'queued', label: 'waiting for a slot' },
  { kind: 'prefill', label: 'prefill' },
  { kind: 'decode', label: 'decode' },
  { kind: 'score', label: 'scoring' },
  { kind: 'results', label: 'waiting for results' },
  { kind: 'other', label: 'other' },
];
const labels = new Map(kinds.map(({ kind, label }) => [kind, label]));

/** The chart of a turn, one row per node visit. */
export function TimelineTab({ turn }: { readonly turn: TurnRecord }) {
  const now = useNow(turn.endedAt === undefined);
  const end = turn.endedAt ?? now;
  const timeline = useMemo(() => timelineOf(turn, end), [turn, end]);
  const used = new Set(timeline.rows.flatMap(({ segments }) => segments.map(({ kind }) => kind)));
  const last = timeline.rows.at(-1);
  const isUnknown = last?.running === true && last.segments.at(-1)?.kind === 'other';
  return (
    <div className="turn-timeline">
      <ul className="turn-legend" aria-label="Colours of the chart">
        {kinds
          .filter(({ kind }) => used.has(kind))
          .map(({ kind, label }) => (
            <li key={kind}>
              <svg viewBox="0 0 10 10" aria-hidden="true">
                <rect className="turn-segment" data-kind={kind} width="10" height="10" />
              </svg>
              {label}
            </li>
          ))}
        {isUnknown && (
          <li>
            <svg viewBox="0 0 10 10" aria-hidden="true">
              <rect className="turn-segment" data-running="true" width="10" height="10" />
            </svg>
            runs: its parts are known when its inference has ended
          </li>
        )}
      </ul>
      <table>
        <caption className="visually-hidden">The visits of nodes in the turn, with their times and tokens</caption>
        <thead>
          <tr>
            <th scope="col">Node</th>
            <th scope="col" className="turn-chart-head">
              <Scale totalMs={timeline.totalMs} />
            </th>
            <th scope="col">Time</th>
          </tr>
        </thead>
        <tbody>
          {timeline.rows.map((row, index) => (
            // Visits are only added at the end.
            // oxlint-disable-next-line react/no-array-index-key
            <Row key={index} row={row} totalMs={timeline.totalMs} failed={turn.fault !== undefined} />
          ))}
        </tbody>
      </table>
      <Summary turn={turn} timeline={timeline} />
    </div>
  );
}

function Scale({ totalMs }: { readonly totalMs: number }) {
  return (
    <span className="turn-scale">
      <span>0</span>
      <span>{formatMs(totalMs / 2)}</span>
      <span>{formatMs(totalMs)}</span>
    </span>
  );
}

interface RowProps {
  readonly row: TimelineRow;
  readonly totalMs: number;
  /** Whether its turn has failed. */
  readonly failed: boolean;
}

function Row({ row, totalMs, failed }: RowProps) {
  const { node, from, to, running, exit, durations } = row;
  const stopped = failed ? 'failed here' : 'cancelled here';
  const exitText = running ? (row.waits ? 'waits for results' : 'runs') : exit === undefined ? stopped : `→ ${exit}`;
  const isUnknown = Object.keys(durations).every((kind) => kind === 'other');
  const times = kinds.flatMap(({ kind, label }) => {
    const ms = durations[kind] ?? 0;
    // Of a visit without a known part it says nothing.
    const isTold = kind === 'other' ? ms >= 1 && !isUnknown : ms > 0;
    return isTold ? [`${label} ${formatMs(ms)}`] : [];
  });
  return (
    <>
      <tr className="turn-row">
        <th scope="row">
          <span className="mono">{node}</span>
          <span className="muted"> {exitText}</span>
        </th>
        <td>
          <Bar row={row} totalMs={totalMs} />
        </td>
        <td className="turn-number">{formatMs(to - from)}</td>
      </tr>
      {(row.tokens || times.length > 0) && (
        <tr className="turn-figures">
          <td colSpan={3}>
            {times.join(' · ')}
            <Tokens row={row} />
          </td>
        </tr>
      )}
    </>
  );
}

/** The narrowest that a bar is drawn, in percent of the chart. */
const minWidth = 0.4;

function Bar({
  row: { segments, from, to, running },
  totalMs,
}: {
  readonly row: TimelineRow;
  readonly totalMs: number;
}) {
  const percent = (ms: number): number => (totalMs > 0 ? (ms * 100) / totalMs : 0);
  return (
    <svg className="turn-bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect className="turn-track" width="100" height="10" />
      <rect
        className="turn-visit"
        x={Math.min(percent(from), 100 - minWidth)}
        width={Math.max(minWidth, percent(to - from))}
        height="10"
      />
      {segments.map(({ kind, from: start, to: end }, index) => (
        <rect
          key={`${kind} ${start}`}
          className="turn-segment"
          data-kind={kind}
          data-running={running && kind === 'other' && index === segments.length - 1}
          x={percent(start)}
          width={percent(end - start)}
          height="10"
        >
          <title>{`${labels.get(kind)}: ${formatMs(end - start)}`}</title>
        </rect>
      ))}
    </svg>
  );
}

function Tokens({ row }: { readonly row: TimelineRow }) {
  const { tokens, firstTokenMs, promptTokensPerSecond: prefillRate, generatedTokensPerSecond: decodeRate } = row;
  if (!tokens) return null;
  return (
    <dl>
      <Figure name="reused" value={tokens.reused} />
      <Figure name="new" value={tokens.fresh} more={prefillRate && formatRate(prefillRate)} />
      <Figure name="generated" value={tokens.generated} more={decodeRate && formatRate(decodeRate)} />
      {firstTokenMs !== undefined && <Figure name="first token" value={formatMs(firstTokenMs)} />}
    </dl>
  );
}

interface FigureProps {
  readonly name: string;
  readonly value: number | string;
  readonly more?: string | number | undefined;
}

function Figure({ name, value, more }: FigureProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {value}
        {more !== undefined && <span className="muted"> at {more}</span>}
      </dd>
    </div>
  );
}

function Summary({ turn: { summary, text }, timeline }: { readonly turn: TurnRecord; readonly timeline: Timeline }) {
  const { totalMs, isServerTotal, running } = timeline;
  const { tokens } = summary ?? {};
  const stopped = summary && stopText(summary);
  const models = [...new Set(timeline.rows.flatMap((row) => row.models))];
  return (
    <dl className="turn-total">
      <Figure
        name={isServerTotal ? 'total' : running ? 'so far' : 'total, as the page saw it'}
        value={formatMs(totalMs)}
      />
      {summary && summary.timeToFirstTokenMs > 0 && (
        <Figure name="to the first token" value={formatMs(summary.timeToFirstTokenMs)} />
      )}
      {tokens && tokens.prompt > 0 && (
        <>
          <Figure name="prompt tokens" value={tokens.prompt} />
          <Figure name="generated" value={tokens.generated} />
        </>
      )}
      {stopped !== undefined && <Figure name="stop reason" value={stopped} />}
      {text !== '' && <Figure name="text" value={`${text.length} characters`} />}
      {models.map((model) => (
        <Figure key={model} name="model" value={model} />
      ))}
    </dl>
  );
}
