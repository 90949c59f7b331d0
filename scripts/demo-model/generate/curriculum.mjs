// In which order the model learns: to copy, then tools one at a time, then to choose among them, then everything.
import { copyRecord, recordOf, textsOf } from './encode.mjs';

const longest = { early: 640, late: 1152 };

/** Records without end; `progress()` tells how much of the training they are for is done, from 0 to 1. */
export function* records({ toolDocument, talkDocument }, { vocabulary, chance, progress }) {
  const plain = vocabulary.gguf.types.flatMap((type, id) => (type === 1 && id > 320 ? [id] : []));
  for (;;) {
    const done = progress();
    if (chance.often(copyShare(done))) {
      yield copyRecord(chance, plain);
      continue;
    }
    const record = recordOf(textsOf(documentFor(done)), vocabulary.encode);
    if (record[0] <= (done < 0.1 ? longest.early : longest.late)) yield record;
  }

  function documentFor(done) {
    if (done < 0.06) {
      return toolDocument({ tools: chance.pick([1, 1, 2, 2, 3]), messages: 5, quiet: 0.08, several: 0.03 });
    }
    if (chance.often(0.1)) return talkDocument();
    if (chance.often(0.11)) return toolDocument({ own: true, tools: chance.pick([1, 1, 3, 3, 4, 5]), several: 0.08 });
    // Few words each, and many tools: which one is meant?
    if (chance.often(done < 0.4 ? 0.4 : 0.2)) {
      const tools = chance.pick([2, 3, 3, 4, 4, 5, 6]);
      return toolDocument({ tools, messages: 2 * tools + chance.below(8), several: 0.03, quiet: 0.4 });
    }
    return toolDocument();
  }
}

const copyShare = (done) => (done < 0.025 ? 0.5 : done < 0.06 ? 0.12 : done < 0.4 ? 0.02 : 0);
