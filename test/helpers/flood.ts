import { defineNode } from '../../src/index.ts';
import { defaultSendBufferLimits } from '../../src/server/sendBuffer.ts';
import type { GraphDocument } from './graphs.ts';
import { oneDayMs } from './heldEngine.ts';
import type { TestServerOptions } from './server.ts';

/** A chunk of a flood: 4096 bytes that begin with its number. */
const floodChunk = (index: number): string => `${index} `.padEnd(4096, 'x');

/** The first chunks of a flood, together. */
export const floodText = (chunks: number): string =>
  Array.from({ length: chunks }, (_, index) => floodChunk(index)).join('');

/** A graph whose turns write many chunks, as fast as the reader takes them. */
export const flooding = (chunks: number): GraphDocument => ({
  start_node: 'flood',
  nodes: { flood: { type: 'Flood', params: { chunks } } },
});

/**
 * Options of a server that runs such graphs, and waits for a slow reader.
 * @param onEnd is called when a turn has written its last chunk or was aborted.
 */
export const floodOptions = (onEnd = (): void => undefined) =>
  ({
    extension: {
      nodeTypes: [
        defineNode({
          type: 'Flood',
          summary: 'Sends more than a socket can hold.',
          params: { type: 'object', properties: { chunks: { type: 'integer', default: 1 } } },
          exits: ['default'],
          create: async ({ chunks }) => ({
            async run(turn) {
              for (let index = 0; index < chunks && !turn.signal.aborted; index++) {
                await turn.backpressure();
                turn.say(floodChunk(index), 'delta');
              }
              onEnd();
              return 'default';
            },
          }),
        }),
      ],
    },
    sendBuffer: { ...defaultSendBufferLimits, slowReaderTimeoutMs: oneDayMs },
  }) satisfies TestServerOptions;
