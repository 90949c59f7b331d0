import { stepName } from '../graphTests/expectation.ts';
import type { CaseResult } from '../graphTests/runCase.ts';
import type { FileResult } from '../graphTests/testFile.ts';
import { colorsFor } from './terminalText.ts';
import { describeFailures } from './testReport.ts';

/** The results of cases as JUnit XML, for CI: a test suite for each file, and a test case for each case. */
export function junitReport(files: readonly FileResult[]): string {
  const suites = files.map(suiteOf);
  const cases = files.flatMap((file) => file.cases);
  const counts = countsOf(cases, files.filter(({ error }) => error !== undefined).length);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    element('testsuites', { name: 'turngraph', ...counts }, suites),
    '',
  ].join('\n');
}

function suiteOf({ path, cases, error }: FileResult): string {
  const cause = error === undefined ? [] : [textElement('error', error, { message: firstLine(error) })];
  const broken = cause.map((child) => element('testcase', { name: 'runs', classname: path, time: '0' }, [child]));
  return element('testsuite', { name: path, ...countsOf(cases, broken.length) }, [
    ...broken,
    ...cases.map((result) => testCase(path, result)),
  ]);
}

function testCase(path: string, result: CaseResult): string {
  const { name, ok, runs, passed, durationMs } = result;
  const failures = describeFailures(result, colorsFor({}));
  const rate = runs.length > 1 ? `${passed} of ${runs.length} runs passed` : '';
  const message = [rate, firstMessage(result)].filter((part) => part !== '').join('; ');
  return element('testcase', { name, classname: path, time: seconds(durationMs) }, [
    ...(ok ? [] : [textElement('failure', failures, { message, type: 'expectation' })]),
    textElement('system-out', traceText(result)),
  ]);
}

const firstMessage = ({ runs }: CaseResult): string => {
  const turns = runs.flatMap((run) => run.turns.map((turn, index) => ({ ...turn, number: index + 1 })));
  const failed = turns.find(({ mismatches }) => mismatches.length > 0);
  const [mismatch] = failed?.mismatches ?? [];
  return failed && mismatch ? `turn ${failed.number}: ${mismatch.what}: ${mismatch.message}` : '';
};

/** What happened in the turns of the first run. */
const traceText = ({ runs: [run] }: CaseResult): string =>
  (run?.turns ?? [])
    .map(({ trace }) => `> ${trace.user}\n  ${trace.path.map(stepName).join(', ')}\n< ${trace.text}`)
    .join('\n');

const countsOf = (cases: readonly CaseResult[], errors: number) => ({
  tests: String(cases.length + errors),
  failures: String(cases.filter(({ ok }) => !ok).length),
  errors: String(errors),
  time: seconds(cases.reduce((sum, { durationMs }) => sum + durationMs, 0)),
});

const seconds = (ms: number): string => (ms / 1000).toFixed(3);
const firstLine = (text: string): string => text.split('\n', 1)[0] ?? '';

function element(name: string, attributes: Readonly<Record<string, string>>, children: readonly string[] = []): string {
  // A parser takes a line break in an attribute for a space.
  const start = [
    name,
    ...Object.entries(attributes).map(([key, value]) => `${key}="${escapeXml(value).replaceAll('\n', '&#10;')}"`),
  ].join(' ');
  if (children.length === 0) return `<${start}/>`;
  return `<${start}>\n${children.join('\n')}\n</${name}>`;
}

/** An element with text, to which no line break is added. */
const textElement = (name: string, text: string, attributes: Readonly<Record<string, string>> = {}): string =>
  element(name, attributes).replace(/\/>$/, () => `>${escapeXml(text)}</${name}>`);

const entities: Readonly<Record<string, string>> = {
  '<': '&lt;',
  '>': '&gt;',
  '&': '&amp;',
  '"': '&quot;',
  "'": '&apos;',
};

// XML 1.0 has no control characters but these three, not even escaped, and no lone surrogates.
const forbidden = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;

/** Text in an element or an attribute. */
const escapeXml = (text: string): string =>
  text
    .replaceAll(forbidden, '\uFFFD')
    .replaceAll(/[<>&"']/g, (character) => entities[character] ?? character)
    .replaceAll(/[\r\t]/g, (character) => `&#${character.charCodeAt(0)};`);
