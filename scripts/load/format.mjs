// The report of the load as lines of text.

/** The lines of a report. */
export function formatLoad({ idle, open, openSeconds, short, long, failed, profile }, { sessions, tokens, goal }) {
  const perSession = (open.residentBytes - idle.residentBytes) / sessions / 1000;
  const perToken = ((long.serverCpuMsPerTurn - short.serverCpuMsPerTurn) * 1000) / (tokens - 1);
  return [
    `sessions     ${sessions} opened in ${openSeconds.toFixed(1)} s`,
    `memory       ${megabytes(idle.residentBytes)} before, ${megabytes(open.residentBytes)} with them: ${perSession.toFixed(1)} kB each`,
    ...turnLines('short turns', short),
    ...turnLines('long turns', long),
    `a token      ${perToken.toFixed(1)} µs of CPU in the server (${tokens} tokens against 1)`,
    `goal         ${short.turnsPerMinute >= goal ? 'met' : 'missed'}: at least ${goal} short turns a minute`,
    ...failed.map((sentence) => `failed       ${sentence}`),
    ...(profile ?? []).map(({ place, share }) => `profile      ${(share * 100).toFixed(1).padStart(5)} %  ${place}`),
  ];
}

const turnLines = (title, figures) => [
  `${title.padEnd(12)} ${figures.turnsPerMinute} a minute; ${figures.medianMs.toFixed(0)} ms (median), ${figures.p95Ms.toFixed(0)} ms (95 %) with all sessions speaking`,
  `             ${figures.serverCpuMsPerTurn.toFixed(3)} ms of CPU in the server, ${figures.clientCpuMsPerTurn.toFixed(3)} ms in this client; the server used ${figures.serverCores.toFixed(2)} cores`,
  `             memory ${memoryOf(figures.memory.begin)} in the first third, ${memoryOf(figures.memory.end)} in the last`,
];

const memoryOf = ({ residentBytes, heapBytes, replayBytes }) =>
  `${megabytes(residentBytes)} (heap after collection ${megabytes(heapBytes)}, frames to replay ${megabytes(replayBytes)})`;

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
