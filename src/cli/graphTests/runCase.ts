import type { Client } from '../../client/index.ts';
import type { CasesFile } from './casesFile.ts';
import type { GraphCase } from './casesSchema.ts';
import { type CaseSession, seededGraph } from './caseSession.ts';
import { findMismatches, type Mismatch } from './expectation.ts';
import { runCaseTurn, type TracedTurn } from './turnTrace.ts';

/** A turn that has run, and what it did not do as expected. */
export interface CheckedTurn extends TracedTurn {
  readonly mismatches: readonly Mismatch[];
}

/** One run of a case: its turns until the first that failed. */
export interface CaseRun {
  readonly turns: readonly CheckedTurn[];
  readonly ok: boolean;
}

export interface CaseResult {
  readonly name: string;
  readonly runs: readonly CaseRun[];
  readonly passed: number;
  /** Whether enough runs passed. */
  readonly ok: boolean;
  readonly durationMs: number;
}

export interface CaseRunOptions {
  readonly client: Client;
  readonly runs: number;
  /** The share of the runs that must pass, from 0 to 1. */
  readonly minPass: number;
  /** Whether each run samples with a seed of its own, in place of that of the graph. */
  readonly isSeeded: boolean;
  /** Whether the turns tell which inference a call came from. Default false. */
  readonly enableDiagnostics?: boolean;
  readonly signal: AbortSignal;
  /** Told of each turn before it runs, from 1. */
  readonly onTurn?: (name: string, turn: number) => void;
  /** Notes of the turn that has run, besides its own. */
  readonly notesOfTurn?: () => readonly string[];
  readonly onWarnings?: (warnings: readonly string[]) => void;
  readonly onCase?: ((result: CaseResult) => void) | undefined;
}

interface CaseContext extends CaseRunOptions {
  /** The graph of a run, from 1: a document or its text. */
  readonly graphOf: (run: number) => object | string;
  readonly defaultModelName: string;
}

/** Runs the cases of a file one after the other. @throws Fault when the graph or a model cannot be used. */
export async function runCases(
  { cases, graph: { text } }: CasesFile,
  { registry, defaultModelName }: CaseSession,
  options: CaseRunOptions,
): Promise<readonly CaseResult[]> {
  const document: unknown = JSON.parse(text);
  const graphOf = (run: number): object | string =>
    options.isSeeded ? (seededGraph(document, registry, run) as object) : text;
  const results: CaseResult[] = [];
  for (const graphCase of cases) {
    const result = await runCase(graphCase, { ...options, graphOf, defaultModelName });
    results.push(result);
    options.onCase?.(result);
  }
  return results;
}

// 9 of 10 runs are 0.9 of them, whatever the rounding.
const shareTolerance = 1e-9;

async function runCase(graphCase: GraphCase, context: CaseContext): Promise<CaseResult> {
  const start = performance.now();
  const runs: CaseRun[] = [];
  for (let run = 1; run <= context.runs; run++) runs.push(await runOnce(graphCase, run, context));
  const passed = runs.filter(({ ok }) => ok).length;
  const ok = passed / runs.length >= context.minPass - shareTolerance;
  return { name: graphCase.name, runs, passed, ok, durationMs: performance.now() - start };
}

async function runOnce({ name, turns }: GraphCase, run: number, context: CaseContext): Promise<CaseRun> {
  const { client, graphOf, defaultModelName, enableDiagnostics = false, signal, onTurn, notesOfTurn } = context;
  signal.throwIfAborted();
  const checked: CheckedTurn[] = [];
  await using agent = await client.createAgent({ graph: graphOf(run), defaultModelName, enableDiagnostics, signal });
  context.onWarnings?.(agent.warnings);
  for (const [index, turn] of turns.entries()) {
    onTurn?.(name, index + 1);
    const traced = await runCaseTurn(client, agent, turn, signal);
    const notes = [...traced.notes, ...(notesOfTurn?.() ?? [])];
    checked.push({ ...traced, notes, mismatches: findMismatches(turn.expect, traced.trace) });
    // The dialog would go on in another way than the case means.
    if (traced.trace.error !== undefined) break;
  }
  return { turns: checked, ok: checked.every(({ mismatches }) => mismatches.length === 0) };
}
