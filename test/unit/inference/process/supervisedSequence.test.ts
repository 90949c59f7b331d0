import { describe, expect, it } from 'vitest';
import { deliverText } from '../../../../src/inference/process/supervisedSequence.ts';
import { Gate } from '../../../helpers/gate.ts';

/** A delivery with a gate as the backpressure of its client. */
function createDelivery({ onText = () => undefined }: { readonly onText?: (piece: string) => void } = {}) {
  const gate = new Gate();
  gate.open();
  const abort = new AbortController();
  const pieces: string[] = [];
  const controls: string[] = [];
  const delivery = deliverText({
    signal: abort.signal,
    backpressure: () => gate.closed,
    onText: (piece) => {
      onText(piece);
      pieces.push(piece);
    },
  });
  delivery.control((control) => controls.push(control));
  return { delivery, gate, abort, pieces, controls };
}

describe('text from an engine process', () => {
  it('is delivered as it arrives', async () => {
    const { delivery, pieces, controls } = createDelivery();
    delivery.push('a');
    delivery.push('b');
    await delivery.delivered();
    expect(pieces).toEqual(['a', 'b']);
    expect(controls).toEqual([]);
  });

  it('pauses the generation under backpressure, and is held back until the client has caught up', async () => {
    const { delivery, gate, pieces, controls } = createDelivery();
    gate.close();
    delivery.push('a');
    delivery.push('b');
    delivery.push('c');
    expect(pieces).toEqual(['a']);
    expect(controls).toEqual(['pause']);
    gate.open();
    await delivery.delivered();
    expect(pieces).toEqual(['a', 'b', 'c']);
    expect(controls).toEqual(['pause', 'resume']);
  });

  it('is delivered at once when the turn is cancelled', async () => {
    const { delivery, gate, abort, pieces } = createDelivery();
    gate.close();
    delivery.push('a');
    delivery.push('b');
    abort.abort();
    await delivery.delivered();
    expect(pieces).toEqual(['a', 'b']);
  });

  it('aborts the generation when its listener throws', async () => {
    const { delivery, controls } = createDelivery({
      onText: () => {
        throw new Error('the listener fails');
      },
    });
    delivery.push('a');
    delivery.push('b');
    expect(controls).toEqual(['abort']);
    await expect(delivery.delivered()).rejects.toThrow('the listener fails');
  });
});
