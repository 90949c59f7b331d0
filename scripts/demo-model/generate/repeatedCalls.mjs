// Repeated calls: one request with several sets of values, "water the roses for ten minutes and the lawn for thirty".
import { joinParts } from './valueList.mjs';
import { startsWithValue, callOf, chooseParts, isSlot, valueFor } from './requests.mjs';

const repeatable = /(?:^|\s)((?:the|my|our|your|a|an|some)\s)$/;
const words = (text) => text.trim().split(/\s+/).filter(Boolean).length;

/**
 * A message with several calls of one tool, in which two or more slots have different values in each call; undefined if the
 * chosen request has no such segment. The text before the first slot occurs once, the text after the last one once or more.
 */
export function repeatedCallRequest(tool, { requests, draw, rng, calls }) {
  const segment = segmentOf(tool, { requests, rng });
  if (!segment) return undefined;
  const { parts, head, core, tail } = segment;
  const rounds = Array.from({ length: calls }, () => valuesOfCall(tool, parts, { draw }));
  // An amount may be left out: "milk and 12 eggs".
  const [amount, gap] = core;
  const canLeaveOut = tool.slots[amount.key].optional && gap.text?.trim() === '';
  const said = rounds.map(({ given, spoken }) => {
    if (!canLeaveOut || rng.chance(0.7)) return textOf(core, spoken);
    given.delete(amount.key);
    return textOf(core.slice(2), spoken);
  });
  // Each call is about another thing.
  const subject = core.find(({ key }) => key && tool.slots[key].kind === 'text') ?? amount;
  if (new Set(rounds.map(({ given }) => given.get(subject.key))).size < calls) return undefined;
  const [, article = ''] = repeatable.exec(head) ?? [];
  const unit = words(tail) <= 2;
  const whole = said.map((text, index) => {
    const again = index > 0 && rng.chance(0.7) ? article : '';
    const ends = index === calls - 1 ? !unit || rng.chance(0.4) : unit && (index === 0 || rng.chance(0.4));
    return again + text + (ends ? tail : '');
  });
  return {
    text: head + joinParts(whole, rng),
    opensWithValue: startsWithValue(parts),
    calls: rounds.map(({ given }) => callOf(tool, given)),
  };
}

// A request with two or more slots close together: what precedes them, they, and what follows.
function segmentOf(tool, { requests, rng }) {
  for (let tries = 0; tries < 6; tries++) {
    const parts = chooseParts(tool, requests, rng);
    if (!parts) return undefined;
    const first = parts.findIndex(isSlot);
    const last = parts.findLastIndex(isSlot);
    const core = parts.slice(first, last + 1);
    const keys = core.filter(isSlot).map(({ key }) => key);
    const between = core.map(({ text = '' }) => text).join('');
    const head = textOf(parts.slice(0, first));
    const tail = textOf(parts.slice(last + 1));
    const isClose = words(between) <= 6 && !/[.!?]/.test(between + head + tail);
    if (keys.length >= 2 && new Set(keys).size === keys.length && isClose) return { parts, head, core, tail };
  }
  return undefined;
}

// The values of one call, and their wording.
function valuesOfCall({ slots }, parts, { draw }) {
  const given = new Map();
  const spoken = new Map();
  for (const part of parts.filter(({ key }) => key)) {
    const { value, said } = valueFor(part, slots, { given, draw });
    given.set(part.key, value);
    spoken.set(part.key, said);
  }
  return { given, spoken };
}

const textOf = (parts, spoken) =>
  parts.map((part) => part.text ?? (part.fixed === undefined ? spoken.get(part.key) : '')).join('');
