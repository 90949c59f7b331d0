// Splits the actions into those that are trained on, those that are held out, and those of the shipped examples.
import { heldOut, partOf, similarityOf } from './catalogue.mjs';

/** Held-out shares of the actions, and of the requests of the other actions. */
export const shares = { actions: 0.07, requests: 0.06 };

/**
 * The largest similarity of actions of different files: in one list; of a requested action to those of the list (and to shipped
 * ones); and of a training action to a held-out one.
 */
export const maxSimilarity = { together: 0.38, instead: 0.22, insteadOfShipped: 0.12, besideHeld: 0.55 };

// The split takes seconds and does not depend on the random generator, so it is cached per catalogue.
const splits = new WeakMap();

/** The actions by part, and how alike they are. The shipped tools are in both parts: only their requests are held out. */
export function splitActions(actions) {
  if (splits.has(actions)) return splits.get(actions);
  const alike = similarityOf(actions);
  const same = (one, other, limit) => one.topic !== other.topic && alike(one, other) > limit;
  const shipped = actions.filter(({ topic }) => topic === 'shipped');
  const rest = actions.filter(({ topic }) => topic !== 'shipped');
  const held = rest.filter(isHeld);
  const isBesideHeld = (action) => held.some((other) => same(action, other, maxSimilarity.besideHeld));
  const train = rest.filter((action) => !isHeld(action) && !isBesideHeld(action));
  splits.set(actions, { alike, same, shipped, held, train });
  return splits.get(actions);
}

const isHeld = ({ action }) => heldOut(`action ${action}`, shares.actions);

/** The requests of an action that belong to a part. */
export const requestsOf = (action, part) =>
  // All requests of a held-out action are held out.
  isHeld(action) && action.topic !== 'shipped'
    ? action.requests
    : partOf(part, action.requests, shares.requests, (text) => `request ${text}`);

/** Actions by topic. */
export function grouped(list) {
  const groups = new Map();
  for (const entry of list) groups.set(entry.topic, [...(groups.get(entry.topic) ?? []), entry]);
  return groups;
}
