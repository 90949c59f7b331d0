/**
 * WebSocket close codes by reason (PROTOCOL.md, "Close codes"). Codes below 4000 are those of RFC 6455, the others are
 * of turngraph.
 */
export const closeCodes = {
  /** The client has closed, and nothing was wrong. */
  normal: 1000,
  /** The server shuts down. */
  goingAway: 1001,
  /** The client has sent invalid WebSocket traffic. */
  protocolError: 1002,
  /** Never sent: what a library reports for a close frame without a code. */
  noCode: 1005,
  /** Never sent: what a library reports when the connection broke without a close frame. */
  connectionLost: 1006,
  /** A frame has more than `maxFrameBytes`. */
  frameTooLarge: 1009,
  /** The client has sent a wrong resume token. */
  wrongResumeToken: 4401,
  /** The client offers no subprotocol that the server knows. */
  unknownSubprotocol: 4406,
  /** The client reads too slowly: see sendBuffer.ts. */
  slowReader: 4408,
  /** Another connection has resumed the session. */
  resumedElsewhere: 4409,
  /** Too many connections, too many new ones in a second, or too many unanswered requests. */
  limitExceeded: 4429,
} as const;
