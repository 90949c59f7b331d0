// What the messages of a document are like: a lesson.

const done = ['Done.', 'Here you go.', 'As you wish.', 'Consider it done.', 'All right.'];

/**
 * - `quiet`: share of the messages that ask for nothing on offer;
 * - `strangers`: from where a request may be that no tool fits: far from the tools on offer, near them, any;
 * - `mentions`: share of the remarks that name what a tool on offer could be called with;
 * - `several`: share of the others that are due more calls than one;
 * - `ways`: how these are said: any requests in a row, requests to tools apart, one with values listed, one with values in turn;
 * - `past`: share of documents before which something was said; `busy`: share of it that asked for a call;
 * - `replies`: what followed such a call, '' for nothing.
 */
export const usual = {
  ...{ quiet: 0.4, strangers: ['far', 'any'], mentions: 0 },
  ...{ several: 0.2, ways: ['row', 'row', 'list', 'list', 'turn'] },
  ...{ past: 0.25, busy: 0.6, replies: done },
};

/** What is learnt late: two tools at once, a request that only resembles one on offer, a past that misleads. */
export const hard = {
  ...{ quiet: 0.4, strangers: ['far', 'near', 'any'], mentions: 0.6 },
  ...{ several: 0.3, ways: ['apart', 'apart', 'apart', 'row', 'list', 'list', 'turn'] },
  // Many a graph ends with the call, and says nothing.
  ...{ past: 0.45, busy: 0.8, replies: [...done, ...done.map(() => '')] },
};

/** What is learnt last: to say nothing where a request only resembles one. Whoever has read many hints hears them everywhere. */
export const last = { ...hard, quiet: 0.5 };
