import type { ExpectedCall } from './items.mjs';

export type Outcome = 'exact' | 'wrong' | 'wrongCount' | 'decodeFailure' | 'falseCall' | 'missed';

export interface HeardCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

export interface Heard {
  readonly calls: readonly HeardCall[];
  readonly text?: string;
  readonly truncated?: boolean;
}

export function sameValue(meant: unknown, given: unknown): boolean;
export function sameCall(meant: ExpectedCall, given: HeardCall): boolean;
export function looksLikeCall(text: string): boolean;
export function compare(expectsCall: readonly ExpectedCall[], heard: Heard): Outcome;
