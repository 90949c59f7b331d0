/** Characters of one event. A larger one is no token. */
const maxEventLength = 4_000_000;

/** An event of a stream is larger than any that has a token. */
export class EventTooLarge extends Error {
  constructor() {
    super(`an event has more than ${maxEventLength} characters`);
  }
}

/**
 * Reads a stream of server-sent events: the data of each event, in order. Comments and other fields are left out.
 * @throws EventTooLarge
 */
export async function* readEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let pending = '';
  let data: string[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    pending += decoder.decode(chunk, { stream: true });
    const lines = pending.split(/\r\n|\n|\r(?!$)/);
    pending = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) yield data.join('\n');
        data = [];
        length = 0;
      } else if (line.startsWith('data:')) {
        data.push(line.slice(line.startsWith('data: ') ? 6 : 5));
        // An empty line of data takes memory, too.
        length += line.length;
      }
    }
    if (pending.length + length > maxEventLength) throw new EventTooLarge();
  }
}
