import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { closeCodes } from '../../src/closeCodes.ts';
import { serverSchema } from '../../src/config.ts';
import { codes, type FieldShape } from '../../src/frames.gen.ts';
import { clientCodecs, serverCodecs } from '../../src/wire/codec.ts';
import { messageOf } from '../../src/wire/frame.ts';
import {
  bodiesOf,
  byMessage,
  defaultOf,
  fieldsOf,
  type Fields,
  type MessageName,
} from '../../src/wire/messageShape.ts';
import { seededBytes } from '../helpers/fakeHub.ts';
import { startHubServer, type HubFixture } from '../helpers/hubFixture.ts';
import { repositoryPath } from '../helpers/server.ts';
import { Gate } from '../helpers/gate.ts';
import type { ScriptLine } from '../helpers/heldEngine.ts';

const text = readFileSync(repositoryPath('proto/PROTOCOL.md'), 'utf8');
const script = JSON.parse(readFileSync(repositoryPath('proto/golden/mock-script.json'), 'utf8')) as ScriptLine[];

// The story is never told to its end. What else is slow waits until the text has shown what can happen meanwhile.
const [story, count] = [new Gate(), new Gate()];
const slow = new Map<string, Pick<ScriptLine, 'gate' | 'piecesBeforeGate'>>([
  ['story', { gate: story, piecesBeforeGate: 2 }],
  ['count', { gate: count, piecesBeforeGate: 0 }],
]);
let home: HubFixture | undefined;
beforeAll(async () => {
  home = await startHubServer({ script: script.map((line) => ({ ...line, delay_ms: 0, ...slow.get(line.match) })) });
  home.hub.files.set('ann/tiny/model.gguf', { content: seededBytes(8_000) });
  home.hub.maxBytesSent = 0;
});
afterAll(() => home?.[Symbol.asyncDispose]());

/** The text under a heading, up to the next one of its level or above. */
function under(heading: string): string {
  const [, ...rest] = `\n${text}`.split(`\n${heading}\n`);
  const level = heading.split(' ')[0] ?? '';
  return rest.join('\n').split(new RegExp(`^#{1,${level.length}} `, 'm'))[0] ?? '';
}

const snake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** A frame of the text: who sends it, and its JSON. */
interface Told {
  readonly from: 'C' | 'S';
  readonly json: string;
}

/** The frames of the code blocks in a piece of the text, block by block. */
function framesIn(piece: string): readonly (readonly Told[])[] {
  return [...piece.matchAll(/^ *```frames\n(.*?)^ *```$/gms)].map(([, block = '']) =>
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
    const section = under(`### ${name}`);

    it('has a heading for it', () => {
      expect(section).not.toBe('');
    });

    it('mentions every field', () => {
      const missing = fieldsOf(name).filter(([field]) => !section.includes(`\`${snake(field)}\``));
      expect(missing.map(([field]) => field)).toEqual([]);
    });

    it('gives every enum value its number', () => {
      const values = fieldsOf(name).flatMap(([, shape]: readonly [string, FieldShape]) =>
        'enum' in shape ? shape.enum.map((value, number) => `\`${value}\` = ${number}`) : [],
      );
      expect(values.filter((value) => !section.includes(value))).toEqual([]);
    });
  });

  it('has one row for every error code, and for no other', () => {
    const rows = [...under('## Error codes').matchAll(/^\| (\d+) +\| `(\w+)` +\|/gm)];
    expect(rows.map(([, number, name]) => [name, Number(number)])).toEqual(Object.entries(codes));
  });

  it('has a row for every close code that the server uses', () => {
    const used = Object.values(closeCodes).filter((code) => code !== closeCodes.noCode);
    const rows = [...under('## Close codes').matchAll(/^\| (\d+) /gm)].map(([, number]) => number);
    expect(used.filter((code) => !rows.includes(String(code)))).toEqual([]);
  });

  it('names the flags of its limits with the defaults that they have', () => {
    const rows = [...under('### Limits').matchAll(/^\| [^|]+\| ([\d,]+)(?: s)? +\| `--([\w-]+)`/gm)];
    const told = rows.map(([, value = '', flag = '']) => [flag, Number(value.replaceAll(',', ''))]);
    const options: Readonly<Record<string, { readonly default?: unknown }>> = serverSchema.properties;
    const known = Object.entries(options).map(([name, schema]) => [snake(name).replaceAll('_', '-'), schema.default]);
    expect(told.length).toBeGreaterThan(5);
    expect(told.filter(([flag, value]) => !known.some(([name, usual]) => name === flag && usual === value))).toEqual(
      [],
    );
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

  it('holds frames that the codecs read', () => {
    const frames = framesIn(text).flat();
    expect(frames.length).toBeGreaterThan(50);
    const codecs = { C: serverCodecs['turngraph.v1.json'], S: clientCodecs['turngraph.v1.json'] };
    const refused = frames.flatMap(({ from, json }) => {
      const decoded = codecs[from].decode(json);
      // Some are there to be refused.
      return decoded.ok || (from === 'C' && under('### Requests that are refused').includes(json)) ? [] : [json];
    });
    expect(refused).toEqual([]);
  });
});

describe('a conversation of PROTOCOL.md', () => {
  // The first is told from its first frame; the others begin as it does.
  const [[...greeting] = []] = framesIn(under('## Conversations')).map((frames) => frames.slice(0, 3));
  const titles = [...under('## Conversations').matchAll(/^### (.+)$/gm)].map(([, title = '']) => title);

  it.each(titles)('goes as it is told: %s', async (title) => {
    const [frames = []] = framesIn(under(`### ${title}`));
    const whole = frames[0]?.from === 'S' ? frames : [...greeting, ...frames];
    expect(await played(whole)).toEqual(whole.map(withoutChance));
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

  /** A golden frame as each codec reads it, and as each writes it then. */
  function read({ direction, json, binary }: Golden) {
    const writers = direction === 'client' ? clientCodecs : serverCodecs;
    const readers = direction === 'client' ? serverCodecs : clientCodecs;
    const [fromJson, fromBinary] = [
      readers['turngraph.v1.json'].decode(JSON.stringify(json)),
      readers['turngraph.v1.proto'].decode(Buffer.from(binary, 'hex')),
    ];
    if (!fromJson.ok || !fromBinary.ok) throw new Error(`${JSON.stringify(json)} is refused`);
    // The compiler does not follow from the direction to its frames.
    const encode = (name: keyof typeof writers) => writers[name].encode(fromJson.frame as never);
    return {
      frames: [fromJson.frame, fromBinary.frame] as const,
      json: encode('turngraph.v1.json'),
      binary: encode('turngraph.v1.proto'),
    };
  }

  it.each(golden)('$name is the same in both encodings', (one) => {
    const { frames, json, binary } = read(one);
    expect(frames[1]).toEqual(frames[0]);
    expect(json).toBe(JSON.stringify(one.json));
    expect(Buffer.from(binary).toString('hex')).toBe(one.binary);
  });

  it('show every field of every message with a value that is not its default', () => {
    const unseen = new Set(
      Object.entries(byMessage(fieldsOf))
        .filter(([name]) => !name.endsWith('Frame'))
        .flatMap(([name, fields]) => fields.map(([field]) => `${name}.${field}`)),
    );
    const look = (name: MessageName, message: Fields): void => {
      for (const [field, shape] of fieldsOf(name)) {
        const value = message[field];
        if (JSON.stringify(value) !== JSON.stringify(defaultOf(shape))) unseen.delete(`${name}.${field}`);
        if (!('message' in shape) || !value) continue;
        for (const inner of [value].flat()) look(shape.message, inner as Fields);
      }
    };
    const seen = new Set<string>();
    for (const one of golden) {
      const [frame] = read(one).frames;
      const bodies = bodiesOf(one.direction === 'client' ? 'ClientFrame' : 'ServerFrame');
      const name = bodies.get(frame.body);
      if (!name) throw new Error(`${frame.body} is no message`);
      seen.add(name);
      expect(one.name.split(' ')[0]).toBe(name);
      look(name, messageOf(frame));
    }
    const all = [...bodiesOf('ClientFrame').values(), ...bodiesOf('ServerFrame').values()];
    expect(all.filter((name) => !seen.has(name))).toEqual([]);
    expect([...unseen]).toEqual([]);
  });

  it('are what scripts/golden.mjs writes', () => {
    expect(() =>
      execFileSync(process.execPath, [repositoryPath('scripts/golden.mjs'), '--check'], { stdio: 'pipe' }),
    ).not.toThrow();
  });
});

/** Plays a conversation: sends what the client says, and waits where the server speaks. */
async function played(frames: readonly Told[]): Promise<readonly unknown[]> {
  const socket = new WebSocket(home?.server.url ?? '', ['turngraph.v1.json']);
  const heard: string[] = [];
  let wake = (): void => undefined;
  socket.on('message', (data: Buffer) => {
    heard.push(data.toString());
    wake();
  });
  const next = async (): Promise<string> => {
    while (heard.length === 0) await new Promise<void>((resolve) => (wake = resolve));
    return heard.shift() ?? '';
  };
  const all: unknown[] = [];
  for (const { from, json } of frames) {
    if (from === 'C') socket.send(json);
    const told = from === 'C' ? json : await next();
    all.push(withoutChance({ from, json: told }));
    if (told.includes('"AGENT_BUSY"')) count.open();
    if (told.includes('"DOWNLOAD_CANCELLED"') && home) home.hub.maxBytesSent = Infinity;
  }
  socket.close();
  return all;
}

/** What differs from one time to the next. */
const chance = /^(?:sessionId|resumeToken|serverVersion|callId|tokens\w+|\w+Ms)$/;

/** A frame as a value, without what differs each time. */
const withoutChance = ({ from, json }: Told): unknown => ({
  from,
  frame: JSON.parse(json, (key, value: unknown) => {
    if (key === 'sessionReady') return {};
    return from === 'S' && chance.test(key) ? typeof value : value;
  }) as unknown,
});
