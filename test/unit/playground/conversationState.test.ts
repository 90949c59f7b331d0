import { beforeEach, describe, expect, it } from 'vitest';
import { useDraft, variablesOf } from '../../../playground/src/conversation/draftStore.ts';
import { callWait } from '../../../playground/src/conversation/callWait.ts';
import { formatMs, formatRate } from '../../../playground/src/conversation/formatFigures.ts';
import { agentTitle } from '../../../playground/src/conversation/pageAgent.ts';
import { promptBlocks, promptText, withVisibleSpace } from '../../../playground/src/conversation/promptParts.ts';
import { stopText, turnNotes, wholeTextLabel } from '../../../playground/src/conversation/turnNotes.ts';
import { cancelledWait, recordedTurns, replay, type TimedTurnChange } from './recordedTurns.ts';

describe('the message that is written', () => {
  const draft = useDraft.getState;
  beforeEach(() => useDraft.setState({ text: '', sent: [], recalled: undefined }));

  it('brings back what was sent, from the last one on, and what was begun is an empty message', () => {
    for (const text of ['one', 'two', 'two']) {
      draft().setText(text);
      draft().markSent();
    }
    const texts = ([-1, -1, -1, 1, 1, 1] as const).map((step) => [draft().recall(step), draft().text]);
    expect(texts).toEqual([
      [true, 'two'],
      [true, 'one'],
      [false, 'one'],
      [true, 'two'],
      [true, ''],
      [false, ''],
    ]);
  });

  it('takes a sentence behind what is there', () => {
    draft().setText('Thanks. ');
    draft().addSentence('(ring is done.)');
    expect(draft().text).toBe('Thanks. (ring is done.)');
  });

  it('has the variables with a name', () => {
    const rows = [
      { name: 'mood', value: 'grim' },
      { name: ' ', value: 'lost' },
      { name: 'mood ', value: 'merry' },
    ];
    expect(variablesOf(rows)).toEqual({ mood: 'merry' });
  });
});

describe('the name of an agent', () => {
  it.each([
    ['lamp', [], 'lamp'],
    ['lamp', ['lamp'], 'lamp 2'],
    ['lamp', ['lamp', 'lamp 3'], 'lamp 2'],
    ['', [], 'graph'],
  ])('of the graph %o beside %o is %o', (graph, titles, title) => {
    expect(
      agentTitle(
        graph,
        titles.map((each) => ({ title: each })),
      ),
    ).toBe(title);
  });
});

describe('figures', () => {
  it.each([
    [0, '0.0 ms'],
    [9.94, '9.9 ms'],
    [480.2, '480 ms'],
    [1240, '1.24 s'],
    [12_340, '12.3 s'],
    [65_000, '1 min 5 s'],
  ])('%d ms are shown as %o', (ms, text) => expect(formatMs(ms)).toBe(text));
  it.each([
    [8.44, '8.4/s'],
    [1240.4, '1,240/s'],
  ])('%d tokens a second are shown as %o', (rate, text) => expect(formatRate(rate)).toBe(text));
});

describe('a prompt', () => {
  const special = (text: string) => ({ text, special: true });
  const plain = (text: string) => ({ text, special: false });

  it('is drawn in blocks that begin with a control token at the begin of a line', () => {
    const parts = [special('<s>'), plain('a'), special('</s>'), plain('\n'), special('<s>'), plain('b')];
    expect(promptBlocks(parts).map(promptText)).toEqual(['<s>a</s>\n', '<s>b']);
  });

  it('of any length has blocks of bounded length, and no character is lost', () => {
    const long = Array.from({ length: 4000 }, (_, line) => `line ${line} of a long prompt\n`).join('');
    const parts = [special('<s>'), plain(long), special('</s>'), plain('tail without an end of the line')];
    const blocks = promptBlocks(parts);
    expect(blocks.length).toBeGreaterThan(20);
    expect(blocks.map(promptText).join('')).toBe(promptText(parts));
    expect(Math.max(...blocks.map((block) => promptText(block).length))).toBeLessThan(9000);
    for (const block of blocks.slice(0, -1)) expect(promptText(block)).toMatch(/\n$/);
  });

  it('shows its white space on demand', () => {
    expect(withVisibleSpace('a b\tc\n')).toBe('a·b→\tc↵\n');
  });
});

describe('what is said below a turn', () => {
  it('is nothing where it ended as it should', () => {
    expect(turnNotes(replay(recordedTurns.chat))).toEqual([]);
  });

  it('is that it was cancelled', () => {
    expect(turnNotes(replay(recordedTurns.cancelled))).toMatchObject([
      { tone: 'warn', text: 'Cancelled here. The dialog has it so far.' },
    ]);
    const { summary } = replay(cancelledWait);
    expect(summary && stopText(summary)).toBe('cancelled');
  });

  it('is what the summary tells: cut off, dropped interactions, warnings', () => {
    const turn = replay(recordedTurns.chat);
    if (!turn.summary) throw new Error('the turn has not ended');
    const summary = { ...turn.summary, stopReason: 'LENGTH', interactionsDropped: 2, warnings: ['w'] } as const;
    expect(turnNotes({ ...turn, summary }).map(({ text }) => text)).toEqual([
      'The text was cut off: max_tokens or the context was reached.',
      'The prompt had no room for the 2 oldest turns of the dialog.',
      'w',
    ]);
  });

  it('names why a text came as a whole', () => {
    expect(wholeTextLabel({ type: 'CannedResponse' })).toBe('canned');
    expect(wholeTextLabel({ type: 'Generate', params: { hold: true } })).toBe('held back until the end');
    expect(wholeTextLabel({ type: 'Generate' })).toBe('not streamed');
  });
});

describe('the wait of a call', () => {
  const waitOf = (changes: readonly TimedTurnChange[], count?: number) => {
    const turn = replay(changes, count);
    return turn.calls.map((call) => callWait(turn, call));
  };
  const { awaited } = recordedTurns;
  const afterCall = awaited.findIndex(([, { type }]) => type === 'call') + 1;

  it('is open until its node goes on, though the Ack of the result comes later', () => {
    expect(waitOf(awaited, afterCall)).toEqual(['open']);
    expect(waitOf(awaited, afterCall + 2)).toEqual([undefined]);
    expect(waitOf(awaited)).toEqual([undefined]);
  });

  it('is over when the node has gone on without a result, while the turn still runs', () => {
    const event = {
      nodeName: 'detect',
      eventType: 'node_finished',
      mode: 'AUTO' as const,
      payload: { exit: 'no_results', duration_ms: 90 },
    };
    expect(waitOf([...awaited.slice(0, afterCall), [91, { type: 'event', event }]])).toEqual(['over']);
  });

  it('is over when the turn was cancelled', () => {
    expect(waitOf(cancelledWait)).toEqual(['over']);
  });
});
