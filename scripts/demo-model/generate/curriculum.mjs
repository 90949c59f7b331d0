// In which order the model learns: to copy, then tools one at a time, then to choose among them, then everything, and last
// more of what is hard.
import { copyRecord, recordOf, textsOf } from './encode.mjs';
import { hard } from './lesson.mjs';

const longest = { early: 640, late: 1152 };

// Where the last part of the course begins: at this share of the whole text.
const lastPart = 0.25;

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
    if (record[0] <= (done < 0.05 ? longest.early : longest.late)) yield record;
  }

  function documentFor(done) {
    if (done < 0.03) {
      return toolDocument({ tools: chance.pick([1, 1, 2, 2, 3]), messages: 5, quiet: 0.08, several: 0.03 });
    }
    if (done >= lastPart) return lastDocument();
    if (chance.often(0.1)) return talkDocument();
    if (chance.often(0.11)) return toolDocument({ ...shipped(), several: 0.08 });
    if (chance.often(done < 0.2 ? 0.4 : 0.2)) return toolDocument({ ...short(), several: 0.03 });
    return toolDocument();
  }

  function lastDocument() {
    if (chance.often(0.1)) return talkDocument(hard);
    if (chance.often(0.14)) return toolDocument({ ...hard, ...shipped(), several: 0.1, quiet: 0.3 });
    if (chance.often(0.15)) return toolDocument({ ...hard, ...short(), several: 0.15 });
    return toolDocument(hard);
  }

  function shipped() {
    return { own: true, tools: chance.pick([1, 1, 3, 3, 4, 5]) };
  }

  // Few words each, and many tools: which one is meant?
  function short() {
    const tools = chance.pick([2, 3, 3, 4, 4, 5, 6]);
    return { tools, messages: 2 * tools + chance.below(8) };
  }
}

const copyShare = (done) => (done < 0.0125 ? 0.5 : done < 0.03 ? 0.12 : done < 0.2 ? 0.02 : 0);
