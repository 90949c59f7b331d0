import type { Issue } from './callIssues.ts';
import type { Tool } from '../tool.ts';

/** A parameter that stands between a call and its being sent. */
export interface InsightParam {
  readonly name: string;
  readonly message: string;
  readonly significance: string;
  readonly examples: readonly unknown[];
  /** What is to be asked for first; the lowest number goes first. */
  readonly precedence: number;
  readonly hidden: boolean;
}

/** Why a call that the model wished was not sent: what is missing, and what is there but cannot be meant. */
export interface Insight {
  readonly tool: string;
  readonly missing: readonly InsightParam[];
  readonly invalid: readonly InsightParam[];
}

/**
 * The insight that a call becomes instead of a notification, if it does: a consequential call with any issue, or any
 * call with a required parameter that is missing or that the user never said.
 */
export function createInsight(tool: Tool, issues: readonly Issue[]): Insight | undefined {
  const required = new Set(tool.parameters.required ?? []);
  const stops = ({ code, param }: Issue): boolean =>
    tool.consequential || code === 'missing_param' || (code === 'ungrounded_value' && required.has(param));
  if (!issues.some(stops)) return undefined;
  const obstacles = (missing: boolean): InsightParam[] =>
    issues.filter(({ code }) => (code === 'missing_param') === missing).map((issue) => toInsightParam(tool, issue));
  return { tool: tool.name, missing: obstacles(true), invalid: obstacles(false) };
}

/** What a template shows of an insight: no hidden parameter, and only the group that is to be asked for first. */
export function visibleInsight({ tool, missing, invalid }: Insight): Insight {
  const visible = [...missing, ...invalid].filter(({ hidden }) => !hidden);
  const first = Math.min(...visible.map(({ precedence }) => precedence));
  const isShown = ({ hidden, precedence }: InsightParam): boolean => !hidden && precedence === first;
  return { tool, missing: missing.filter(isShown), invalid: invalid.filter(isShown) };
}

function toInsightParam({ notes }: Tool, { param, message }: Issue): InsightParam {
  const {
    significance = '',
    examples = [],
    precedence = 0,
    hidden = false,
  } = notes.get(param.split(/[.[]/)[0] ?? '') ?? {};
  return { name: param, message, significance, examples, precedence, hidden };
}
