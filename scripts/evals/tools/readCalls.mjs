// What a turn called, as the evaluations count it.

/** The calls that the client was notified of. */
export const detectedCalls = ({ calls }) =>
  calls.map(({ toolName, arguments: given, confidence }) => ({ name: toolName, arguments: given, confidence }));

/**
 * Calls without a required parameter are reported as insights instead of calls; here they count as (wrong) calls. Those that lack
 * nothing were held back as unsure.
 */
export const incompleteCalls = ({ events }) =>
  eventsOf(events, 'tool_insight')
    .filter(({ missing, invalid }) => missing.length + invalid.length > 0)
    .map((payload) => ({ name: payload.tool, arguments: {} }));

/** Calls that the server could not read; it leaves their markup out of the answer. */
export const unreadCalls = ({ events }) => eventsOf(events, 'call_unread');

/** How many calls repeated one that had a result already; they are not sent. */
export const repeatedCalls = ({ events }) => eventsOf(events, 'call_repeated').length;

const eventsOf = (events, type) => events.filter(({ eventType }) => eventType === type).map(({ payload }) => payload);
