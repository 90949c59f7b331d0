// What the server has used until now, from its /metrics.

/** CPU seconds of all threads, resident bytes, bytes of the JavaScript heap, and those of the frames that are kept for clients that resume. */
export async function readUsage(server) {
  const text = (await server.metrics()) ?? '';
  const sumOf = (name) =>
    [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))].reduce(
      (sum, [, value]) => sum + Number(value),
      0,
    );
  return {
    cpuSeconds: sumOf('turngraph_process_cpu_seconds_total'),
    residentBytes: sumOf('turngraph_process_resident_memory_bytes'),
    heapBytes: sumOf('turngraph_process_heap_used_bytes'),
    externalBytes: sumOf('turngraph_process_external_memory_bytes'),
    replayBytes: sumOf('turngraph_replay_bytes'),
  };
}
