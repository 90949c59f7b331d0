import { notesOf } from '../declaration/paramNotes.ts';
import type { Issue } from './callIssues.ts';
import type { JsonObject } from '../../json/value.ts';
import type { Tool } from '../../tool.ts';

/** A parameter that keeps a call from being sent. */
export interface InsightParam {
  readonly name: string;
  readonly message: string;
  readonly significance: string;
  readonly examples: readonly unknown[];
  /** Order in which parameters are asked for, lowest first. */
  readonly precedence: number;
  readonly hidden: boolean;
}

/** A detected call that was not sent, and why: its missing and its invalid parameters. */
export interface Insight {
  readonly tool: string;
  /** As the model wrote them: not coerced, not rounded. */
  readonly arguments: JsonObject;
  readonly missing: readonly InsightParam[];
  readonly invalid: readonly InsightParam[];
}

/**
 * The insight that replaces the notification of a call; undefined: the call is sent. Only these calls are not sent: a
 * consequential call with any issue, and any call with a required parameter that is missing or not grounded in what the
 * user has said.
 */
export function createInsight(tool: Tool, args: JsonObject, issues: readonly Issue[]): Insight | undefined {
  const isBlocking = ({ code, param }: Issue): boolean =>
    tool.consequential ||
    code === 'missing_param' ||
    (code === 'ungrounded_value' && notesOf(tool, param).required === true);
  if (!issues.some(isBlocking)) return undefined;
  const paramsWith = (missing: boolean): InsightParam[] =>
    issues.filter(({ code }) => (code === 'missing_param') === missing).map((issue) => toInsightParam(tool, issue));
  return { tool: tool.name, arguments: args, missing: paramsWith(true), invalid: paramsWith(false) };
}

/** The part of an insight that templates show: parameters that are not hidden and have the lowest precedence. */
export function visibleInsight({ missing, invalid, ...call }: Insight): Insight {
  const visible = [...missing, ...invalid].filter(({ hidden }) => !hidden);
  const lowest = Math.min(...visible.map(({ precedence }) => precedence));
  const isShown = ({ hidden, precedence }: InsightParam): boolean => !hidden && precedence === lowest;
  return { ...call, missing: missing.filter(isShown), invalid: invalid.filter(isShown) };
}

function toInsightParam(tool: Tool, { param, message }: Issue): InsightParam {
  const { significance = '', examples = [], precedence = 0, hidden = false } = notesOf(tool, param);
  return { name: param, message, significance, examples, precedence, hidden };
}
