// process: what it costs that a model runs in an engine process (--engine-process child, the default of `serve`), compared with
// the process of the server (in).
//
// Both sides are servers of the same build, measured alternately with the same client, prompts and threads. The files in
// ../process say what is counted. A ratio is child / in; a time is child - in.
import { batch } from '../process/batch.mjs';
import { firstTurns } from '../process/firstTurns.mjs';
import { nextTurns } from '../process/nextTurns.mjs';
import { streams } from '../process/streams.mjs';

export const process = {
  name: 'process',
  async run(bench) {
    const results = [];
    for (const part of [streams, batch, nextTurns, firstTurns]) {
      results.push(...(await part(bench)));
      await bench.close();
    }
    return results;
  },
};
