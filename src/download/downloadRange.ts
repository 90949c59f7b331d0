import { ask, Patience, wholeNumber, type Answer } from './hub/request.ts';
import { addressOf, type Hub } from './hub/endpoint.ts';
import type { Lock } from './disk/lockFile.ts';
import { refusalOf, type Offer } from './hub/remoteFile.ts';
import type { Part } from './disk/partialFile.ts';
import { Passing } from './retry.ts';
import type { Target } from './target.ts';

/** What one exchange is to deliver, and where. */
export interface Delivery {
  readonly hub: Hub;
  readonly target: Target;
  readonly offer: Offer;
  readonly part: Part;
  readonly lock: Lock;
  readonly patience: Patience;
  /** Told how many bytes of the file are there. */
  readonly onBytes: (bytes: number) => void;
  /** Called now and then with the bytes that are missing; throws when there is a reason to stop. */
  readonly watch: (missing: number) => Promise<void>;
}

/** What a file must be, as far as catalogue and hub know. */
export interface Measure {
  readonly bytes: number | undefined;
  readonly sha256: string | undefined;
}

/** The word of the catalogue counts; the hub's fills its gaps. */
export const measureOf = ({ expected }: Target, offer: Offer): Measure => ({
  bytes: expected.bytes ?? offer.bytes,
  sha256: expected.sha256 ?? offer.sha256,
});

const watchEvery = 16 * 2 ** 20;

/** Asks once for what is missing, and writes what comes until the server ends; returns the size of the whole file. */
export async function deliver(delivery: Delivery): Promise<number | undefined> {
  const { hub, target, offer, part, lock, patience, onBytes, watch } = delivery;
  // Without a tag or a hash nobody could tell whether two halves are of one file.
  const goesOn = part.bytes > 0 && (isStrong(part.serverTag) || measureOf(target, offer).sha256 !== undefined);
  const tag = isStrong(part.serverTag) ? { 'if-range': part.serverTag } : {};
  const headers = goesOn ? { range: `bytes=${part.bytes}-`, ...tag } : {};
  const answer = await ask(hub, addressOf(hub, target), { method: 'GET', headers, patience });
  const told = await fitted(answer, delivery, goesOn);
  const size = measureOf(target, offer).bytes ?? told;
  onBytes(part.bytes);
  for (let watched = part.bytes; part.bytes <= (size ?? Infinity);) {
    const { value } = await read(answer.reading, patience);
    if (!value) break;
    await lock.check();
    await part.append(value);
    onBytes(part.bytes);
    if (part.bytes - watched < watchEvery) continue;
    watched = part.bytes;
    await watch(Math.max(0, (size ?? 0) - part.bytes));
  }
  // A whole file that ends where its server meant it to end is of the wrong length; others were cut.
  const whole = answer.status === 200 && told === part.bytes;
  if (part.bytes < (size ?? 0) && !whole) throw new Passing('the connection was cut');
  return size;
}

async function read(
  reading: Answer['reading'],
  patience: Patience,
): Promise<{ readonly value?: Uint8Array | undefined }> {
  try {
    return reading ? await patience.within(reading.read()) : {};
  } catch (cause) {
    throw patience.reason() ?? new Passing('the connection was cut', { cause });
  }
}

/** Makes part and answer fit: what comes now goes behind what is there, or replaces it. Returns the size that is told. */
async function fitted(
  { status, headers, host, linked, ...answer }: Answer,
  { hub, target, offer, part }: Delivery,
  goesOn: boolean,
): Promise<number | undefined> {
  const isOther = linked.etag !== undefined && linked.etag !== offer.etag;
  if (status === 200 && !isOther) {
    await part.restart(target, offer, headers.get('etag') ?? '');
    return wholeNumber(headers.get('content-length'));
  }
  if (status === 206 && goesOn && !isOther) {
    const { from, size } = spanOf(headers);
    const expected = measureOf(target, offer).bytes ?? size;
    const tag = headers.get('etag') ?? '';
    if (from === part.bytes && size === expected && (tag === part.serverTag || tag === '' || part.serverTag === ''))
      return size;
  }
  if (status >= 400 && status !== 416) throw refusalOf({ status, headers, host, linked, ...answer }, hub, target);
  await part.restart(target, offer, '');
  throw new Passing(`${host} has another file now (${status})`);
}

function spanOf(headers: Headers): { readonly from?: number; readonly size?: number } {
  const span = /^bytes (\d+)-\d+\/(\d+)$/.exec(headers.get('content-range') ?? '');
  return span ? { from: Number(span[1]), size: Number(span[2]) } : {};
}

const isStrong = (tag: string): boolean => /^"[^"]*"$/.test(tag);
