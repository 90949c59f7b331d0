import { Fault } from '../fault.ts';
import { Patience } from './hub/request.ts';
import { deliver, measureOf, type Delivery, type Measure } from './downloadRange.ts';
import { magic } from './disk/atomicFile.ts';
import { nameOf, offerOf, type Offer } from './hub/remoteFile.ts';
import { Part } from './disk/partialFile.ts';
import { persistently, type Effort } from './retry.ts';
import type { Target } from './target.ts';

/** One file to fetch, and who watches over it. */
export type FileJob = Omit<Delivery, 'offer' | 'part' | 'patience'> &
  Pick<Effort, 'persistence' | 'signal' | 'onTrouble'>;

/** A file that was fetched. */
export interface Fetched {
  readonly bytes: number;
  readonly sha256: string;
  readonly commit: string;
}

/** Asks the hub what a file is, and does not give up at the first trouble. */
export const offered = (
  job: Pick<FileJob, 'hub' | 'target' | 'persistence' | 'signal' | 'onTrouble'>,
): Promise<Offer> => persistently({ ...job, name: nameOf(job.target), progress: () => 0 }, () => asked(job));

/** Fetches a file, going on from what is there of it, checks it, and puts it in its place. */
export async function fetchFile(job: FileJob, offered: Offer): Promise<Fetched> {
  const { target, signal, persistence } = job;
  let offer = offered;
  await using part = await Part.open(target, offer, signal);
  let size: number | undefined;
  await persistently({ ...job, name: nameOf(target), progress: () => part.bytes }, async (failures) => {
    if (failures > 0) {
      const now = await asked(job);
      // What is there is of a file that the hub no longer has.
      if (now.etag !== offer.etag || now.bytes !== offer.bytes) await part.restart(target, now, '');
      offer = now;
    }
    if (part.bytes > 0 && part.bytes === measureOf(target, offer).bytes) return;
    using patience = new Patience(signal, persistence.stallMs);
    size = await deliver({ ...job, offer, part, patience });
  });
  const { bytes } = part;
  const sha256 = part.digest();
  const must = measureOf(target, offer);
  const came = { bytes, sha256, head: await part.head() };
  const wrong = whyWrong(came, { ...must, bytes: must.bytes ?? size });
  if (wrong !== undefined) {
    const aside = `it is set aside as ${await part.setAside()}`;
    throw new Fault('CHECKSUM_MISMATCH', `${nameOf(target)} came with ${wrong}; ${aside}${mendOf(came, target)}`);
  }
  await job.lock.check();
  await part.become();
  return { bytes, sha256, commit: offer.commit };
}

async function asked({
  hub,
  target,
  signal,
  persistence,
}: Pick<FileJob, 'hub' | 'target' | 'signal' | 'persistence'>): Promise<Offer> {
  using patience = new Patience(signal, persistence.stallMs);
  return await offerOf(hub, target, patience);
}

/** What a file is. */
interface Is {
  readonly bytes: number;
  readonly sha256: string;
  /** What it begins with, so many characters as `magic` has. */
  readonly head: string;
}

/** How a file differs from what it must be; undefined = in nothing that is known. */
export function whyWrong(is: Is, must: Measure): string | undefined {
  if (must.bytes !== undefined && is.bytes !== must.bytes) return `${is.bytes} bytes instead of ${must.bytes}`;
  if (must.sha256 !== undefined && is.sha256 !== must.sha256) return `SHA-256 ${is.sha256} instead of ${must.sha256}`;
  // Where no hash is known, this at least tells a model from a page.
  if (is.head !== magic) return `"${plain(is.head)}" at its start instead of "${magic}": it is no model`;
  return undefined;
}

function mendOf({ head }: Is, { expected }: Target): string {
  if (head !== magic) return '; look into it, for a hub or a network that wants a login answers with a page';
  return `, download it again${expected.sha256 === undefined ? '' : ', or correct the hash in the catalogue'}`;
}

const plain = (head: string): string => head.replaceAll(/[^ -~]/g, '.');
