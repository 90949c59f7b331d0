import type { ClientCheck } from '../stage.ts';
import { withEscapes } from '../futureFrames.ts';
import { ScriptedTurn } from '../scriptedTurn.ts';

// Characters of one to four bytes, a family of several code points, and what JSON has to escape.
const words = ['Grüße', ' 你好', ' 🏮', '👩‍👩‍👧', ' \u{1F3F4}', ' "\\/\n\r\t', '\u2028', ' e\u0301', ' 𝒳', '𝒴 end.'];

/** Checks of how a client reads and sends messages of every size, in every division. */
export const messageChecks: readonly ClientCheck[] = [
  {
    name: 'a streamed answer is reported piece by piece',
    section: 'AnswerText',
    async run(stage) {
      await stage.connect();
      const agent = await stage.createAgent();
      const turn = await ScriptedTurn.start(stage, agent);
      await turn.text('Once ').reported();
      await turn.text('').text('upon ').text('a time.').reported();
      turn.nodeEvent('node_finished', '{"exit":"default"}').end({ stopReason: 'LENGTH' });
      await turn.complete({ reason: 'LENGTH' });
    },
  },
  {
    name: 'the fields of an answer are no part of its text',
    section: 'AnswerField',
    async run(stage) {
      await stage.connect();
      const agent = await stage.createAgent();
      const turn = await ScriptedTurn.start(stage, agent);
      turn
        .field('mood', 'calm "and" 你好')
        .text('Once ')
        .text('upon a time.')
        .field('price', 2.5)
        .field('__proto__', '');
      await turn.end().complete();
    },
  },
  {
    name: 'characters of every length arrive as they are',
    section: 'The JSON form',
    async run(stage) {
      await stage.connect();
      const agent = await stage.createAgent();
      const turn = await ScriptedTurn.start(stage, agent, `Say: ${words.join('')}`);
      for (const word of words) turn.text(word);
      await turn.end().complete();
    },
  },
  {
    name: 'characters that are escaped as a pair of surrogates are read',
    section: 'The JSON form',
    async run(stage) {
      await stage.connect();
      const agent = await stage.createAgent();
      const turn = await ScriptedTurn.start(stage, agent);
      for (const word of words) turn.text(word, { change: withEscapes });
      // Also where the two escapes are in different fragments.
      await turn.text('🏮🏮', { fragmentBytes: 1, change: withEscapes }).end().complete();
    },
  },
  {
    name: 'messages in WebSocket fragments are joined, also where a character is cut',
    section: 'Connecting',
    async run(stage) {
      await stage.connect();
      const agent = await stage.createAgent();
      const turn = await ScriptedTurn.start(stage, agent);
      turn.text(words.join(''), { fragmentBytes: 5, pings: true }).text('🏮🏮', { fragmentBytes: 1 });
      await turn.end({}, { fragmentBytes: 64, pings: true }).complete();
    },
  },
  {
    name: 'frames that TCP cuts or joins are read',
    section: 'Connecting',
    async run(stage) {
      const connection = await stage.connect();
      const agent = await stage.createAgent();
      const turn = await ScriptedTurn.start(stage, agent);
      await turn.text('one byte 🏮 at a time, ', { writeBytes: 1, writeDelayMs: 1 }).reported();
      const release = connection.hold();
      for (const word of words) turn.text(word);
      turn.end();
      release();
      await turn.complete();
    },
  },
  {
    name: 'large frames and long answers are read',
    section: 'Frame sizes',
    async run(stage) {
      await stage.connect();
      const agent = await stage.createAgent();
      const turn = await ScriptedTurn.start(stage, agent);
      // Up to 54 KiB, with a WebSocket header of each size.
      for (const count of [1, 5, 20, 200, 9000]) turn.text('ü🏮'.repeat(count));
      for (let part = 0; part < 20; part++) turn.text('0123456789'.repeat(1500));
      await turn.end().complete();
    },
  },
  {
    name: 'a long message and a long dialog are sent as they are',
    section: 'Limits',
    async run(stage) {
      await stage.connect();
      const agent = await stage.createAgent([{ user: 'a'.repeat(300_000), assistant: 'ü🏮'.repeat(20_000) }]);
      const turn = await ScriptedTurn.start(stage, agent, 'ü🏮 '.repeat(35_000));
      await turn.text('I see.').end().complete();
    },
  },
  {
    name: 'a slow server is waited for',
    section: 'Order',
    async run(stage) {
      await stage.connect();
      const agent = await stage.createAgent();
      const turn = await ScriptedTurn.start(stage, agent);
      for (const piece of ['slow ', 'and ', 'steady']) {
        await new Promise((resolve) => setTimeout(resolve, 150));
        turn.text(piece, { writeBytes: 10, writeDelayMs: 10 });
      }
      await turn.end({}, { writeBytes: 40, writeDelayMs: 5 }).complete();
    },
  },
];
