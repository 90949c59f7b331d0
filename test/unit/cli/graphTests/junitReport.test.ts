import { describe, expect, it } from 'vitest';
import { junitReport } from '../../../../src/cli/commands/test.ts';
import type { CaseResult, CheckedTurn } from '../../../../src/cli/graphTests/caseSession.ts';
import type { FileResult } from '../../../../src/cli/graphTests/testFile.ts';

const turn = (text: string, ok: boolean): CheckedTurn => ({
  trace: { user: 'hi', path: [{ node: 'answer', exit: 'default' }], calls: [], text },
  warnings: [],
  notes: [],
  inferenceOfCalls: [],
  mismatches: ok ? [] : [{ what: 'text', message: 'another text', diff: [{ mark: '+', line: text }] }],
});
const result = (name: string, text: string, ...oks: readonly boolean[]): CaseResult => {
  const passed = oks.filter(Boolean).length;
  const runs = oks.map((ok) => ({ turns: [turn(text, ok)], ok }));
  return { name, runs, passed, ok: passed === oks.length, durationMs: 1500 };
};
const file = (fields: Partial<FileResult>): FileResult => ({
  path: 'a.cases.json',
  graph: 'a.json',
  engine: 'the mock engine',
  cases: [],
  warnings: [],
  ...fields,
});

describe('a JUnit report', () => {
  it('has a suite for each file and a test case for each case', () => {
    const xml = junitReport([file({ cases: [result('greets', 'Hello', true), result('leaves', 'Bye', false)] })]);
    expect(xml).toMatchInlineSnapshot(`
      "<?xml version="1.0" encoding="UTF-8"?>
      <testsuites name="turngraph" tests="2" failures="1" errors="0" time="3.000">
      <testsuite name="a.cases.json" tests="2" failures="1" errors="0" time="3.000">
      <testcase name="greets" classname="a.cases.json" time="1.500">
      <system-out>&gt; hi
        answer.default
      &lt; Hello</system-out>
      </testcase>
      <testcase name="leaves" classname="a.cases.json" time="1.500">
      <failure message="turn 1: text: another text" type="expectation">    turn 1, &quot;hi&quot;:
            text: another text
            + Bye
            path: answer.default
      </failure>
      <system-out>&gt; hi
        answer.default
      &lt; Bye</system-out>
      </testcase>
      </testsuite>
      </testsuites>
      "
    `);
  });

  it('says how many of several runs passed', () => {
    expect(junitReport([file({ cases: [result('greets', 'Hello', true, false, false)] })])).toContain(
      '<failure message="1 of 3 runs passed; turn 1: text: another text" type="expectation">    in 2 of 3 runs:',
    );
  });

  it('reports a file that could not run as an error', () => {
    const xml = junitReport([file({ error: 'a.cases.json:1:2: graph is missing\nand more' })]);
    expect(xml).toContain('tests="1" failures="0" errors="1"');
    expect(xml).toContain(
      '<error message="a.cases.json:1:2: graph is missing">a.cases.json:1:2: graph is missing\nand more',
    );
  });

  it('escapes what is not allowed in XML', () => {
    const xml = junitReport([file({ cases: [result('a "b" <c> & \'d\'', '\u0000\u001b[1m\ud800 🙂 ]]>\r', false)] })]);
    expect(xml).toContain('name="a &quot;b&quot; &lt;c&gt; &amp; &apos;d&apos;"');
    expect(xml).toContain('\uFFFD\uFFFD[1m\uFFFD 🙂 ]]&gt;&#13;');
    const broken = junitReport([file({ cases: [result('two\nlines', 'one\ntwo', true)] })]);
    expect(broken).toContain('name="two&#10;lines"');
    expect(broken).toContain('&lt; one\ntwo');
    expect(xml).not.toMatch(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/);
  });
});
