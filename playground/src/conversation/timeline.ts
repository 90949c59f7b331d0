import type { InferenceRecord, NodeVisit, TurnRecord } from './turnRecord.ts';

/**
 * What a node does: waits for a slot, computes the prompt, generates tokens, scores answers, waits for results of calls,
 * or anything else.
 */
export type SegmentKind = 'queued' | 'prefill' | 'decode' | 'score' | 'results' | 'other';

/** A stretch of time of a node visit, in milliseconds from the start of the turn. */
export interface TimelineSegment {
  readonly kind: SegmentKind;
  readonly from: number;
  readonly to: number;
}

/** Token counts of a node visit. */
export interface TokenCounts {
  readonly prompt: number;
  /** Those of the prompt that were in the KV cache. */
  readonly reused: number;
  /** Those of the prompt that were computed. */
  readonly fresh: number;
  readonly generated: number;
}

/** A node visit as the chart shows it. Times are milliseconds from the start of the turn. */
export interface TimelineRow {
  readonly node: string;
  readonly from: number;
  readonly to: number;
  readonly running: boolean;
  readonly exit: string | undefined;
  /** Whether it waits for results now. */
  readonly waits: boolean;
  /** All of its time, in order. */
  readonly segments: readonly TimelineSegment[];
  /** How long each kind of segment took in all. */
  readonly durations: Readonly<Partial<Record<SegmentKind, number>>>;
  /** Undefined: no inference has ended yet. */
  readonly tokens: TokenCounts | undefined;
  /** From the start of an inference to its first token, of the first one that had any. */
  readonly firstTokenMs: number | undefined;
  readonly promptTokensPerSecond: number | undefined;
  readonly generatedTokensPerSecond: number | undefined;
  readonly models: readonly string[];
}

/** The chart of a turn. */
export interface Timeline {
  readonly rows: readonly TimelineRow[];
  readonly totalMs: number;
  /** Whether the total is the server's figure. */
  readonly isServerTotal: boolean;
  readonly running: boolean;
}

/**
 * The chart of a turn. Durations are those of the server where it has told them; only the place of an inference in its
 * visit, and what has not ended, is by the page's clock.
 * @param now the page's clock.
 */
export function timelineOf(turn: TurnRecord, now: number): Timeline {
  const running = turn.endedAt === undefined;
  const pageMs = (turn.endedAt ?? now) - turn.startedAt;
  const serverMs = turn.summary?.durationMs;
  const rows: TimelineRow[] = [];
  let from = 0;
  for (const visit of turn.visits) {
    // One that runs, or in which the turn ended without an exit, has the rest.
    const to = from + Math.max(0, visit.durationMs ?? (serverMs ?? pageMs) - from);
    rows.push(rowOf(visit, from, to));
    from = to;
  }
  return { rows, totalMs: Math.max(serverMs ?? pageMs, from), isServerTotal: serverMs !== undefined, running };
}

function rowOf(visit: NodeVisit, from: number, to: number): TimelineRow {
  const inferences = visit.inferences.map((inference) => ({ ...readInference(inference), at: inference.at }));
  const segments = segmentsOf(visit, inferences, from, to);
  const durations: Partial<Record<SegmentKind, number>> = {};
  for (const segment of segments) durations[segment.kind] = (durations[segment.kind] ?? 0) + segment.to - segment.from;
  const sum = (pick: (figures: InferenceFigures) => number): number =>
    inferences.reduce((total, inference) => total + pick(inference), 0);
  const tokens = {
    prompt: sum(({ prompt }) => prompt),
    reused: sum(({ reused }) => reused),
    fresh: sum(({ prompt, reused }) => prompt - reused),
    generated: sum(({ generated }) => generated),
  };
  const first = inferences.find(({ firstTokenMs }) => firstTokenMs > 0);
  return {
    node: visit.node,
    from,
    to,
    running: visit.endedAt === undefined,
    exit: visit.exit,
    waits: visit.waits.some(({ to: until }) => until === undefined),
    segments,
    durations,
    tokens: inferences.length > 0 ? tokens : undefined,
    firstTokenMs: first?.firstTokenMs,
    promptTokensPerSecond: perSecond(tokens.fresh, (durations.prefill ?? 0) + (durations.score ?? 0)),
    // The first token of each inference is the last step of its prefill.
    generatedTokensPerSecond: perSecond(
      sum(({ generated }) => Math.max(0, generated - 1)),
      durations.decode ?? 0,
    ),
    models: [...new Set(inferences.map(({ model }) => model))],
  };
}

const perSecond = (tokens: number, ms: number): number | undefined =>
  tokens > 0 && ms > 0 ? (tokens * 1000) / ms : undefined;

/** The figures of an inference. */
export interface InferenceFigures {
  readonly queuedMs: number;
  /** 0: no token was generated. */
  readonly firstTokenMs: number;
  readonly totalMs: number;
  readonly prompt: number;
  readonly reused: number;
  readonly generated: number;
  readonly scores: boolean;
  readonly model: string;
}

/** Reads the payload of the event `inference`; what is missing counts as 0. */
export function readInference({ payload }: Pick<InferenceRecord, 'payload'>): InferenceFigures {
  const numbers = (name: string): Readonly<Record<string, number | undefined>> =>
    (payload[name] ?? {}) as Readonly<Record<string, number | undefined>>;
  const { queued_ms: queuedMs = 0, first_token_ms: firstTokenMs = 0, total_ms: totalMs = 0 } = numbers('timings');
  const { prompt = 0, reused = 0, generated = 0 } = numbers('tokens');
  const model = typeof payload['model'] === 'string' ? payload['model'] : '';
  return { queuedMs, firstTokenMs, totalMs, prompt, reused, generated, scores: 'scores' in payload, model };
}

/** The parts of an inference that starts at a time, without gaps. */
function inferenceSegments({ queuedMs, firstTokenMs, totalMs, scores }: InferenceFigures, from: number) {
  const queued = Math.min(queuedMs, totalMs);
  const first = firstTokenMs > 0 ? Math.min(Math.max(firstTokenMs, queued), totalMs) : totalMs;
  return [
    { kind: 'queued', from, to: from + queued },
    { kind: scores ? 'score' : 'prefill', from: from + queued, to: from + first },
    { kind: 'decode', from: from + first, to: from + totalMs },
  ] as const;
}

function segmentsOf(
  visit: NodeVisit,
  inferences: readonly (InferenceFigures & { readonly at: number })[],
  from: number,
  to: number,
): readonly TimelineSegment[] {
  const known: TimelineSegment[] = [];
  let end = from;
  let left = inferences.reduce((total, { totalMs }) => total + totalMs, 0);
  for (const inference of inferences) {
    const { totalMs, at } = inference;
    left -= totalMs;
    // By the page's clock, but neither before the inference before it nor so late that the ones after it have no time.
    const endsAt = Math.max(end + totalMs, Math.min(from + at - visit.startedAt, to - left));
    known.push(...inferenceSegments(inference, Math.min(endsAt, Math.max(to, end + totalMs)) - totalMs));
    end = endsAt;
  }
  return withGaps([...known, ...waitSegments(visit, from, to)], from, to);
}

/** The times in which the node waited for a result of at least one call. */
function waitSegments({ waits, startedAt, endedAt }: NodeVisit, from: number, to: number): readonly TimelineSegment[] {
  return waits.map((wait) => ({
    kind: 'results',
    from: from + wait.from - startedAt,
    to: wait.to === undefined || wait.to === endedAt ? to : from + wait.to - startedAt,
  }));
}

/** Orders segments, cuts what overlaps and lies outside, and fills the gaps. */
function withGaps(segments: readonly TimelineSegment[], from: number, to: number): readonly TimelineSegment[] {
  const filled: TimelineSegment[] = [];
  const add = (kind: SegmentKind, end: number): void => {
    const start = filled.at(-1)?.to ?? from;
    if (end <= start) return;
    const last = filled.at(-1);
    if (last?.kind === kind) filled[filled.length - 1] = { ...last, to: end };
    else filled.push({ kind, from: start, to: end });
  };
  for (const { kind, from: start, to: end } of segments.toSorted((a, b) => a.from - b.from)) {
    add('other', Math.min(start, to));
    add(kind, Math.min(end, to));
  }
  add('other', to);
  return filled;
}
