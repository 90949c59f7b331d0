import { describe, expect, it } from 'vitest';
import { formats } from '../../../../../src/chat/formats/index.ts';
import { nativeFormat } from '../../../../../src/chat/dialect/nativeFormat.ts';
import { parseReply } from '../../../../../src/chat/reply/parseReply.ts';
import { namedJsonCalls } from '../../../../helpers/callLayouts.ts';
import { createTool } from '../../../../helpers/toolCalls.ts';

const tools = ['Attack', 'Heal', 'Flee', 'open_door'].map((name) => createTool({ name }));

describe.each([...formats, ['native', nativeFormat(namedJsonCalls)] as const])(
  'the names of tools in %s',
  (_name, format) => {
    const read = (text: string) => {
      const { calls, answer, unread } = parseReply(text, format, { tools });
      return { calls: calls.length, answer, unread: unread.length };
    };

    it.each([
      'Your options:\nAttack (2 damage)\nHeal (3 points)\nFlee (costs a turn)',
      'Commands:\nAttack(target)\nHeal(points)\nFlee()',
      'Attack {the goblin}!',
      'Attack (hard)\nHeal (easy)',
      'Attack (2)\nHeal (3)',
      '1. Attack\n2. Heal\n\nAttack (see above)',
      'Heal {two of them} or Flee {now}.',
      'Flee (a) at once, (b) later.',
      'open_door (the red one)\nopen_door (the blue one)',
    ])('before brackets that hold no arguments are text: %j', (text) => {
      expect(read(text)).toEqual({ calls: 0, answer: text, unread: 0 });
    });

    it.each([
      'Attack(target="goblin")',
      'Attack("goblin")\nHeal(3)',
      'Heal{"points": 3}',
      'Heal({"points": 3})',
      'open_door(id=3)',
      '[Attack(target="goblin"), Flee()]',
    ])('before arguments are markup: %j', (text) => {
      expect(read(`At once.\n${text}`)).toMatchObject({ answer: 'At once.' });
      const { calls, answer, unread } = read(text);
      expect({ answer, isFound: calls + unread > 0 }).toEqual({ answer: '', isFound: true });
    });

    it('before empty brackets are markup where nothing else is there', () => {
      expect(read('Flee()')).toMatchObject({ answer: '' });
    });
  },
);
