import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { repositoryPath } from '../helpers/server.ts';

const sourceOf = (path: string): string => readFileSync(repositoryPath(`examples/${path}/turngraph.gd`), 'utf8');

/** Classes, functions with their parameters, signals and constants of a script, in order; those of classes are indented. */
const declarationsIn = (source: string): readonly string[] =>
  [...source.matchAll(/^(?:\tfunc|func|class|\tsignal|signal|const) .*/gm)].map(([line]) =>
    line.replace(/[ \t]*(?:#.*)?:?$/, ''),
  );

/**
 * What only Godot 3 needs: its WebSocketClient has signals, and its JSON parser leaves pairs of surrogates apart and has no
 * limit of depth.
 */
const onlyGodot3 =
  /^(?:const MAX_DEPTH|func (?:_open\(_protocol\)|_keep_close_code|_close\(_was_clean\)|_join_surrogates|_is_deep))/;

describe('the clients for Godot 3 and Godot 4', () => {
  it('declare the same classes, functions, signals and constants', () => {
    const ofGodot3 = declarationsIn(sourceOf('godot3')).filter((line) => !onlyGodot3.test(line));
    expect(ofGodot3.length).toBeGreaterThan(50);
    expect(declarationsIn(sourceOf('godot4/addons/turngraph')).toSorted()).toEqual(ofGodot3.toSorted());
  });

  it('have the rules for a lost session word for word', () => {
    const ruleOf = (source: string, name: string): string =>
      new RegExp(`^func ${name}\\(.*\\n(?:\\t.*\\n|\\n)*`, 'm').exec(source)?.[0] ?? '';
    const plain = (text: string): string =>
      text
        .replaceAll(/emit_signal\("(\w+)"(?:, )?/g, '$1.emit(')
        .replaceAll(/\bTime\b/g, 'OS')
        .replaceAll(/yield\((.*), "completed"\)/g, 'await $1.completed')
        .replaceAll('int(min(2 * _pause_ms, MAX_PAUSE_MS))', 'mini(2 * _pause_ms, MAX_PAUSE_MS)')
        .replaceAll('.empty()', '.is_empty()')
        .replaceAll('JSON.stringify', 'JSON.print');
    for (const name of [
      '_greet',
      '_take_resume',
      '_begin',
      '_restore',
      '_take',
      '_end',
      '_stop',
      '_lose_session',
      '_request',
      '_watch',
      '_give_up',
      '_count',
      '_mark_good',
      '_break',
    ]) {
      expect(ruleOf(sourceOf('godot3'), name)).not.toBe('');
      expect(plain(ruleOf(sourceOf('godot4/addons/turngraph'), name))).toBe(plain(ruleOf(sourceOf('godot3'), name)));
    }
  });
});
