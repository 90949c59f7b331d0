/** Characters of one event. A larger one is no token. */
const maxEventLength = 4_000_000;

/**
 * Reads a stream of server-sent events: the data of each event, in order. Comments and other fields are left out.
 * @throws Error when an event is larger than any that has a token.
 */
export async function* readEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let pending = '';
  let data: string[] = [];
  for await (const chunk of chunks) {
    pending += decoder.decode(chunk, { stream: true });
    const lines = pending.split(/\r\n|\n|\r(?!$)/);
    pending = lines.pop() ?? '';
    if (pending.length > maxEventLength) throw new Error(`an event has more than ${maxEventLength} characters`);
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) yield data.join('\n');
        data = [];
      } else if (line.startsWith('data:')) {
        data.push(line.slice(line.startsWith('data: ') ? 6 : 5));
      }
    }
  }
}
