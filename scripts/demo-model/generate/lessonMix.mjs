// The mix of messages in a training document: shares of requests, remarks and silence, by phase of the training.

const acknowledgements = ['Done.', 'Done.', 'Done.', 'Here you go.', 'As you wish.', 'Consider it done.', 'All right.'];

/**
 * The mix before the hard phase.
 * - `quiet`: share of the messages that ask for none of the tools;
 * - `strangers`: where a request that no tool fits comes from: topics far from those of the tools, near them, any;
 * - `remarkShare`: share of the messages without a call that are remarks or questions about the world;
 * - `mentions`: share of the remarks that contain a value which a tool of the list takes;
 * - `several`: share of the other messages that need more than one call;
 * - `ways`: how these are worded: any requests in a row, requests to different tools, one with values listed, one with
 *   values in turn;
 * - `reports`: share of the messages after a turn with a call that say what came of it;
 * - `past`: share of documents with earlier turns; `busy`: share of these turns that asked for a call;
 * - `replies`: the answers after such a call: what the program said, or the line `spoken` of a graph that ends with the call.
 * @type {object}
 */
export const defaultMix = {
  quiet: 0.4,
  strangers: ['far', 'any'],
  remarkShare: 0.2,
  mentions: 0,
  several: 0.2,
  ways: ['row', 'row', 'list', 'list', 'turn'],
  reports: 0,
  past: 0.25,
  busy: 0.6,
  replies: acknowledgements,
};

/**
 * The mix of the late phase: two tools in one message, requests that only resemble a tool, misleading earlier turns.
 * @type {object}
 */
export const hardMix = {
  quiet: 0.4,
  strangers: ['far', 'near', 'any'],
  remarkShare: 0.2,
  mentions: 0.6,
  several: 0.5,
  ways: ['apart', 'apart', 'apart', 'apart', 'row', 'row', 'list', 'list', 'list', 'turn', 'turn', 'turn'],
  reports: 0.3,
  past: 0.5,
  busy: 0.8,
  replies: acknowledgements,
};

/**
 * The mix of the last phase: more messages without a call. After many roundabout requests the model would otherwise call
 * a tool for requests that only resemble one, or for remarks with a value that it takes.
 */
export const finalMix = { ...hardMix, quiet: 0.55, remarkShare: 0.45, mentions: 0.8, several: 0.6 };
