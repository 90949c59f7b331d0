import { describe, expect, it } from 'vitest';
import { fuzzTarget, randomFrame } from '../../scripts/fuzz/frames.mjs';
import { createRandom } from '../../scripts/seededRandom.mjs';
import { shapes, type ClientFrameBodies, type ServerFrameBodies } from '../../src/protocol/frames.gen.ts';
import { clientCodecs, serverCodecs, type Codec, type Subprotocol } from '../../src/protocol/codec/codec.ts';
import {
  clientFrame,
  messageOf,
  serverFrame,
  type Envelope,
  type Frames,
  bodiesOf,
} from '../../src/protocol/codec/frame.ts';
import { scaled } from '../helpers/depth.ts';

/** Contract of every subprotocol, in both directions. */
export function codecContract(subprotocol: Subprotocol): void {
  const server = serverCodecs[subprotocol];
  const client = clientCodecs[subprotocol];

  describe(`the codec ${subprotocol}`, () => {
    direction('ClientFrame', client, server, (body) => clientFrame(0, body as keyof ClientFrameBodies));
    direction('ServerFrame', server, client, (body) => serverFrame(0, 0, body as keyof ServerFrameBodies));

    it('has its name, and is binary or not', () => {
      expect(server.subprotocol).toBe(subprotocol);
      expect(server.binary).toBe(client.encode(clientFrame(1, 'listModels')) instanceof Uint8Array);
      expect(server.binary).toBe(client.binary);
    });

    it('encodes and decodes a frame of 1.4 MB', () => {
      const text = 'Grüße 👋 '.repeat(100_000);
      const frame = clientFrame(1, 'sendMessage', { agentId: 1, text });
      expect(server.decode(client.encode(frame))).toEqual({ ok: true, frame });
    });

    it('treats a variable named __proto__ like any other', () => {
      const variables = JSON.parse('{"__proto__": "mine", "constructor": "too"}') as Record<string, string>;
      const frame = clientFrame(1, 'sendMessage', { variables });
      const decoded = server.decode(client.encode(frame));
      if (!decoded.ok || decoded.frame.body !== 'sendMessage') throw new Error('expected the message');
      const read = decoded.frame.sendMessage.variables;
      expect(Object.entries(read)).toEqual([
        ['__proto__', 'mine'],
        ['constructor', 'too'],
      ]);
      expect(read['toString']).toBeUndefined();
      expect(Object.prototype).not.toHaveProperty('mine');
    });

    it('replaces unpaired surrogates when it encodes', () => {
      for (const padding of ['', 'é'.repeat(50), 'x'.repeat(500)]) {
        const frame = serverFrame(1, 1, 'answerText', { text: `${padding}\ud83d and \\ud83d` });
        const decoded = client.decode(server.encode(frame));
        expect(decoded).toMatchObject({ ok: true, frame: { answerText: { text: `${padding}\ufffd and \\ud83d` } } });
      }
    });

    it('decodes any bytes to a frame or a fault, and never throws', () => {
      const only = { serverCodecs: { [subprotocol]: server }, clientCodecs: { [subprotocol]: client } };
      const counts = fuzzTarget({ ...only, shapes }, { count: scaled(3000), seed: 20 });
      expect(Math.min(counts.frames, counts.faults)).toBeGreaterThan(scaled(50));
    });
  });
}

function direction<E extends Envelope>(
  envelope: E,
  writer: Codec<unknown, Frames[E]>,
  reader: Codec<Frames[E], never>,
  blank: (body: string) => Frames[Envelope],
): void {
  describe.each([...bodiesOf(envelope).keys()])(`a ${envelope} with %s`, (body) => {
    it('is decoded with all its defaults', () => {
      const frame = blank(body);
      const decoded = reader.decode(writer.encode(frame as Frames[E]));
      expect(decoded).toEqual({ ok: true, frame });
      if (decoded.ok) expect(fieldNames(decoded.frame)).toEqual(fieldNames(frame));
    });

    it('is decoded with a value in every field', () => {
      const random = createRandom(7);
      for (let round = 0; round < scaled(20); round++) {
        const frame = randomFrame(shapes, envelope, random, body);
        expect(reader.decode(writer.encode(frame))).toEqual({ ok: true, frame });
      }
    });
  });
}

const fieldNames = (frame: Frames[Envelope]): string[] => Object.keys(messageOf(frame)).sort();
