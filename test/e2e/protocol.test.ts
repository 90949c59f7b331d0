import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { closeCodes } from '../../src/protocol/closeCodes.ts';
import { serverSchema } from '../../src/server/config.ts';
import { codes, responses, type FieldShape } from '../../src/protocol/frames.gen.ts';
import { clientCodecs, serverCodecs } from '../../src/protocol/codec/codec.ts';
import {
  messageOf,
  bodiesOf,
  byMessage,
  defaultOf,
  fieldsOf,
  type Fields,
  type MessageName,
} from '../../src/protocol/codec/frame.ts';
import { seededBytes } from '../helpers/fakeHub.ts';
import { startHubServer, type HubFixture } from '../helpers/hubFixture.ts';
import { untilGauge } from '../helpers/resume.ts';
import { repositoryPath } from '../helpers/server.ts';
import { Gate } from '../helpers/gate.ts';
import type { ScriptLine } from '../helpers/heldEngine.ts';

const text = readFileSync(repositoryPath('proto/PROTOCOL.md'), 'utf8');
const script = JSON.parse(readFileSync(repositoryPath('proto/golden/mock-script.json'), 'utf8')) as ScriptLine[];

// The generation of "story" never ends. That of "count" ends when the text has shown what happens before.
const [story, count] = [new Gate(), new Gate()];
const slow = new Map<string, Pick<ScriptLine, 'gate' | 'piecesBeforeGate'>>([
  ['story', { gate: story, piecesBeforeGate: 2 }],
  ['count', { gate: count, piecesBeforeGate: 0 }],
]);
let fixture: HubFixture | undefined;
beforeAll(async () => {
  fixture = await startHubServer({
    script: script.map((line) => ({ ...line, delay_ms: 0, ...slow.get(line.match ?? '') })),
  });
  fixture.hub.files.set('ann/tiny/model.gguf', { content: seededBytes(8_000) });
  fixture.hub.maxBytesSent = 0;
});
afterAll(() => fixture?.[Symbol.asyncDispose]());

/** The text of a section, up to the next heading of its level or above. */
function sectionOf(heading: string): string {
  const [, ...rest] = `\n${text}`.split(`\n${heading}\n`);
  const level = heading.split(' ')[0] ?? '';
  return rest.join('\n').split(new RegExp(`^#{1,${level.length}} `, 'm'))[0] ?? '';
}

const toSnakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** A frame of the text: its sender (client or server) and its JSON. */
interface ExampleFrame {
  readonly from: 'C' | 'S';
  readonly json: string;
}

/** The frames in each code block of a section. */
function framesIn(section: string): readonly (readonly ExampleFrame[])[] {
  return [...section.matchAll(/^ *```frames\n(.*?)^ *```$/gms)].map(([, block = '']) =>
    block
      .replaceAll(/^ +(?=[CS]: )/gm, '')
      .replaceAll(/\n +/g, '')
      .trim()
      .split('\n')
      .map((line) => ({ from: line.startsWith('C: ') ? 'C' : 'S', json: line.slice(3) })),
  );
}

describe('PROTOCOL.md', () => {
  describe.each(Object.keys(byMessage((name) => name)) as MessageName[])('on %s', (name) => {
    const section = sectionOf(`### ${name}`);

    it('has a section', () => {
      expect(section).not.toBe('');
    });

    it('mentions every field', () => {
      const missing = fieldsOf(name).filter(([field]) => !section.includes(`\`${toSnakeCase(field)}\``));
      expect(missing.map(([field]) => field)).toEqual([]);
    });

    it('lists every enum value with its number', () => {
      const values = fieldsOf(name).flatMap(([, shape]: readonly [string, FieldShape]) =>
        'enum' in shape ? shape.enum.map((value, number) => `\`${value}\` = ${number}`) : [],
      );
      expect(values.filter((value) => !section.includes(value))).toEqual([]);
    });
  });

  it('has exactly one row for every error code', () => {
    const rows = [...sectionOf('## Error codes').matchAll(/^\| (\d+) +\| `(\w+)` +\|/gm)];
    expect(rows.map(([, number, name]) => [name, Number(number)])).toEqual(Object.entries(codes));
  });

  it('names the final answer of every request', () => {
    const rows = [...sectionOf('### ClientFrame').matchAll(/^\| `(\w+)` +\| \[\w+\]\S* +\| (?:the last )?\[(\w+)\]/gm)];
    expect(Object.fromEntries(rows.map(([, request, answer]) => [request, answer]))).toEqual(
      Object.fromEntries(
        Object.entries(responses).map(([request, { final }]) => [
          toSnakeCase(request),
          bodiesOf('ServerFrame').get(final),
        ]),
      ),
    );
  });

  it('has a row for every close code that the server uses', () => {
    const used = Object.values(closeCodes).filter((code) => code !== closeCodes.noCode);
    const rows = [...sectionOf('## Close codes').matchAll(/^\| (\d+) /gm)].map(([, number]) => number);
    expect(used.filter((code) => !rows.includes(String(code)))).toEqual([]);
  });

  it('names the flags of limits with their defaults', () => {
    const rows = [...sectionOf('### Limits').matchAll(/^\| [^|]+\| ([\d,]+)(?: s)? +\| `--([\w-]+)`/gm)];
    const limits = rows.map(([, value = '', flag = '']) => [flag, Number(value.replaceAll(',', ''))]);
    const options: Readonly<Record<string, { readonly default?: unknown }>> = serverSchema.properties;
    const defaults = Object.entries(options).map(([name, schema]) => [
      toSnakeCase(name).replaceAll('_', '-'),
      schema.default,
    ]);
    expect(limits.length).toBeGreaterThan(5);
    expect(
      limits.filter(([flag, value]) => !defaults.some(([name, standard]) => name === flag && standard === value)),
    ).toEqual([]);
  });

  it('links only to headings and files that exist', () => {
    const anchors = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    );
    const links = [...text.matchAll(/\]\(#([^)]+)\)/g)].map(([, anchor = '']) => anchor);
    expect(links.filter((anchor) => !anchors.includes(anchor))).toEqual([]);
    const files = [...text.matchAll(/\]\(((?:golden|turngraph)[^)#]*)\)/g)].map(([, path = '']) => path);
    expect(files.filter((path) => !existsSync(repositoryPath(`proto/${path}`)))).toEqual([]);
  });

  it('contains only frames that the codecs decode', () => {
    const frames = framesIn(text).flat();
    expect(frames.length).toBeGreaterThan(50);
    const codecs = { C: serverCodecs['turngraph.v1.json'], S: clientCodecs['turngraph.v1.json'] };
    const undecodable = frames.flatMap(({ from, json }) => {
      const decoded = codecs[from].decode(json);
      // This section shows invalid frames.
      return decoded.ok || (from === 'C' && sectionOf('### Requests that are refused').includes(json)) ? [] : [json];
    });
    expect(undecodable).toEqual([]);
  });
});

describe('a conversation of PROTOCOL.md', () => {
  // The first conversation is complete; the others begin after its first three frames.
  const [[...greeting] = []] = framesIn(sectionOf('## Conversations')).map((frames) => frames.slice(0, 3));
  const titles = [...sectionOf('## Conversations').matchAll(/^### (.+)$/gm)].map(([, title = '']) => title);

  it.each(titles)('happens as documented: %s', async (title) => {
    // Each block is a connection of its own; a later one resumes the session of the first.
    const keys = new Map<string, string>();
    for (const frames of framesIn(sectionOf(`### ${title}`))) {
      const whole = frames[0]?.from === 'S' ? frames : [...greeting, ...frames];
      expect(await replay(whole, keys)).toEqual(whole.map(withoutVariableFields));
      if (fixture) await untilGauge(fixture.server, 'turns_running', 0);
    }
  });
});

describe('the golden frames', () => {
  interface Golden {
    readonly name: string;
    readonly direction: 'client' | 'server';
    readonly json: object;
    readonly binary: string;
  }
  const golden = JSON.parse(readFileSync(repositoryPath('proto/golden/golden.json'), 'utf8')) as readonly Golden[];

  /** Decodes a golden frame with both codecs, and encodes the result again. */
  function recode({ direction, json, binary }: Golden) {
    const writers = direction === 'client' ? clientCodecs : serverCodecs;
    const readers = direction === 'client' ? serverCodecs : clientCodecs;
    const [fromJson, fromBinary] = [
      readers['turngraph.v1.json'].decode(JSON.stringify(json)),
      readers['turngraph.v1.proto'].decode(Buffer.from(binary, 'hex')),
    ];
    if (!fromJson.ok || !fromBinary.ok) throw new Error(`${JSON.stringify(json)} cannot be decoded`);
    // TypeScript cannot infer the frame type from the direction.
    const encode = (name: keyof typeof writers) => writers[name].encode(fromJson.frame as never);
    return {
      frames: [fromJson.frame, fromBinary.frame] as const,
      json: encode('turngraph.v1.json'),
      binary: encode('turngraph.v1.proto'),
    };
  }

  it.each(golden)('$name is the same in both encodings', (goldenFrame) => {
    const { frames, json, binary } = recode(goldenFrame);
    expect(frames[1]).toEqual(frames[0]);
    expect(json).toBe(JSON.stringify(goldenFrame.json));
    expect(Buffer.from(binary).toString('hex')).toBe(goldenFrame.binary);
  });

  it('contain every field of every message with a value other than its default', () => {
    const unseen = new Set(
      Object.entries(byMessage(fieldsOf))
        .filter(([name]) => !name.endsWith('Frame'))
        .flatMap(([name, fields]) => fields.map(([field]) => `${name}.${field}`)),
    );
    const visit = (name: MessageName, message: Fields): void => {
      for (const [field, shape] of fieldsOf(name)) {
        const value = message[field];
        if (JSON.stringify(value) !== JSON.stringify(defaultOf(shape))) unseen.delete(`${name}.${field}`);
        if (!('message' in shape) || !value) continue;
        for (const inner of [value].flat()) visit(shape.message, inner as Fields);
      }
    };
    const seen = new Set<string>();
    for (const goldenFrame of golden) {
      const [frame] = recode(goldenFrame).frames;
      const bodies = bodiesOf(goldenFrame.direction === 'client' ? 'ClientFrame' : 'ServerFrame');
      const name = bodies.get(frame.body);
      if (!name) throw new Error(`${frame.body} is no message`);
      seen.add(name);
      expect(goldenFrame.name.split(' ')[0]).toBe(name);
      visit(name, messageOf(frame));
    }
    const all = [...bodiesOf('ClientFrame').values(), ...bodiesOf('ServerFrame').values()];
    expect(all.filter((name) => !seen.has(name))).toEqual([]);
    expect([...unseen]).toEqual([]);
  });

  it('are up to date with scripts/golden.mjs', () => {
    expect(() =>
      execFileSync(process.execPath, [repositoryPath('scripts/golden.mjs'), '--check'], { stdio: 'pipe' }),
    ).not.toThrow();
  });
});

/** The ids and tokens of sessions, and the ids of calls, that a frame names. */
const keysIn = (json: string): readonly string[] =>
  [...json.matchAll(/"(?:sessionId|resumeToken|callId)":"([^"]+)"/g)].map(([, value = '']) => value);

/**
 * Replays a conversation: sends the frames of the client and waits for those of the server, then breaks the connection.
 * @param keys ids and tokens of the text, with those of the server; this adds to it.
 */
async function replay(frames: readonly ExampleFrame[], keys: Map<string, string>): Promise<readonly unknown[]> {
  const socket = new WebSocket(fixture?.server.url ?? '', ['turngraph.v1.json']);
  const received: string[] = [];
  let wake = (): void => undefined;
  socket.on('message', (data: Buffer) => {
    received.push(data.toString());
    wake();
  });
  const next = async (): Promise<string> => {
    while (received.length === 0) await new Promise<void>((resolve) => (wake = resolve));
    return received.shift() ?? '';
  };
  const all: unknown[] = [];
  for (const { from, json } of frames) {
    if (from === 'C') socket.send(keysIn(json).reduce((sent, key) => sent.replace(key, keys.get(key) ?? key), json));
    const limits = from === 'C' ? json : await next();
    const actualKeys = keysIn(limits);
    if (from === 'S') keysIn(json).forEach((key, index) => keys.set(key, actualKeys[index] ?? ''));
    all.push(withoutVariableFields({ from, json: limits }));
    if (limits.includes('"AGENT_BUSY"')) count.open();
    if (limits.includes('"DOWNLOAD_CANCELLED"') && fixture) fixture.hub.maxBytesSent = Infinity;
  }
  socket.terminate();
  return all;
}

/** Fields whose values differ from run to run. */
const variableFields = /^(?:sessionId|resumeToken|serverVersion|callId|tokens\w+|\w+Ms)$/;

/** Parses a frame and replaces values that differ from run to run. */
const withoutVariableFields = ({ from, json }: ExampleFrame): unknown => ({
  from,
  frame: JSON.parse(json, (key, value: unknown) => {
    if (key === 'sessionReady') return {};
    if (key === 'payloadJson') return String(value).replace(/("duration_ms": )[\d.]+/, '$1"number"');
    return from === 'S' && variableFields.test(key) ? typeof value : value;
  }) as unknown,
});
