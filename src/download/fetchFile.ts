import { Fault } from '../fault.ts';
import { Patience } from './ask.ts';
import { deliver, measureOf, type Delivery, type Measure } from './deliver.ts';
import { nameOf, offerOf, type Offer } from './offer.ts';
import { Part } from './part.ts';
import { persistently, type Effort } from './persistence.ts';

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
  const wrong = whyWrong({ bytes, sha256 }, { ...must, bytes: must.bytes ?? size });
  if (wrong !== undefined) {
    const aside = await part.setAside();
    const mend = `it is set aside as ${aside}, download it again`;
    throw new Fault('CHECKSUM_MISMATCH', `${nameOf(target)} came with ${wrong}; ${mend}`);
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

/** How a file differs from what it must be; undefined = in nothing that is known. */
export function whyWrong(is: { readonly bytes: number; readonly sha256: string }, must: Measure): string | undefined {
  if (must.bytes !== undefined && is.bytes !== must.bytes) return `${is.bytes} bytes instead of ${must.bytes}`;
  if (must.sha256 !== undefined && is.sha256 !== must.sha256) return `SHA-256 ${is.sha256} instead of ${must.sha256}`;
  return undefined;
}
