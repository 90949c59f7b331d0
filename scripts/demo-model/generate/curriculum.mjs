// The curriculum of the training: copying, then single tools, then choosing among tools, then everything, then more hard
// messages, and last more messages without a call.
import { copyRecord, toRecord, textsOf } from './encode.mjs';
import { hardMix, finalMix } from './lessonMix.mjs';

const maxRecordTokens = { early: 640, late: 1152 };

// The later phases begin at these shares of the whole corpus.
const phaseStarts = { hard: 0.25, last: 0.6 };

/** Generates records endlessly; `progress()` returns the share of the training that is done, from 0 to 1. */
export function* createRecords(documents, { vocabulary, rng, progress }) {
  const { toolDocument, talkDocument, resultDocument, answerDocument, routeDocument, conditionDocument } = documents;
  const plain = vocabulary.gguf.types.flatMap((type, id) => (type === 1 && id > 320 ? [id] : []));
  for (;;) {
    const done = progress();
    if (rng.chance(copyShare(done))) {
      yield copyRecord(rng, plain);
      continue;
    }
    const record = toRecord(textsOf(documentFor(done)), vocabulary.encode);
    if (record[0] <= (done < 0.05 ? maxRecordTokens.early : maxRecordTokens.late)) yield record;
  }

  function documentFor(done) {
    if (done < 0.03) {
      return toolDocument({ tools: rng.pick([1, 1, 2, 2, 3]), messages: 5, quiet: 0.08, several: 0.03 });
    }
    if (done >= phaseStarts.hard) return lateDocument(done >= phaseStarts.last ? finalMix : hardMix);
    if (rng.chance(0.1)) return talkDocument();
    if (rng.chance(0.11)) return toolDocument({ ...shipped(), several: 0.08 });
    if (rng.chance(done < 0.2 ? 0.4 : 0.2)) return toolDocument({ ...manyTools(), several: 0.03 });
    return toolDocument();
  }

  function lateDocument(mix) {
    if (rng.chance(0.09)) return resultDocument(mix, { own: rng.chance(0.1) });
    if (rng.chance(0.05)) return answerDocument(mix);
    if (rng.chance(0.05)) return routeDocument();
    if (rng.chance(0.05)) return conditionDocument();
    if (rng.chance(0.1)) return talkDocument(mix);
    if (rng.chance(0.12)) return toolDocument({ ...mix, ...inTurn() });
    if (rng.chance(0.14)) return toolDocument({ ...mix, ...shipped(), several: 0.15, quiet: mix.quiet - 0.1 });
    if (rng.chance(0.15)) return toolDocument({ ...mix, ...manyTools(), several: 0.35 });
    return toolDocument(mix);
  }

  function shipped() {
    return { own: true, tools: rng.pick([1, 1, 3, 3, 4, 5]) };
  }

  // Several sets of values for one tool, "four bandages and one bow".
  function inTurn() {
    return { tools: rng.pick([1, 1, 1, 2, 3]), pairs: true, several: 0.75, ways: ['turn', 'turn', 'turn', 'list'] };
  }

  // Many tools and short messages, to learn which tool is meant.
  function manyTools() {
    const tools = rng.pick([2, 3, 3, 4, 4, 5, 6]);
    return { tools, messages: 2 * tools + rng.below(8) };
  }
}

const copyShare = (done) => (done < 0.0125 ? 0.5 : done < 0.03 ? 0.12 : done < 0.2 ? 0.02 : 0);
