import { SingleBar } from 'cli-progress';
import type { DownloadProgress } from '../../inference/download/progress.ts';
import { formatBytes, formatDuration } from '../../base/units.ts';

/** A progress bar on stderr, with speed and remaining time; disposing of it stops updates. */
export interface ProgressBar extends Disposable {
  /** Updates the bar. */
  show(progress: DownloadProgress): void;
  /** Shows a message next to the bar. */
  note(sentence: string): void;
}

// The speed is averaged over the last 20 updates.
const maxSamples = 20;

/** Creates a progress bar; use it only when stderr is a terminal. */
export function progressBar(name: string): ProgressBar {
  const bar = new SingleBar({
    format: `${name}  {bar} {percentage} %  {amounts}{speed}{note}`,
    barCompleteChar: '#',
    barIncompleteChar: '-',
    barsize: 24,
    hideCursor: true,
    fps: 5,
    gracefulExit: false,
  });
  const samples: { readonly atMs: number; readonly bytes: number }[] = [];
  let shown: { readonly amounts: string; readonly speed: string; readonly note: string } | undefined;
  return {
    show({ bytesDone, bytesTotal }) {
      samples.push({ atMs: performance.now(), bytes: bytesDone });
      if (samples.length > maxSamples) samples.shift();
      const total = bytesTotal === 0 ? '' : ` of ${formatBytes(bytesTotal)}`;
      const payload = { amounts: `${formatBytes(bytesDone)}${total}`, speed: speedOf(samples, bytesTotal), note: '' };
      if (shown) bar.update(bytesDone, payload);
      else bar.start(bytesTotal || Infinity, bytesDone, payload);
      shown = payload;
    },
    note(sentence) {
      if (shown) bar.update({ ...shown, speed: '', note: `  ${sentence}` });
      else process.stderr.write(`${sentence}\n`);
    },
    [Symbol.dispose]: () => bar.stop(),
  };
}

function speedOf(samples: readonly { readonly atMs: number; readonly bytes: number }[], total: number): string {
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last || last.atMs <= first.atMs || last.bytes <= first.bytes) return '';
  const perSecond = ((last.bytes - first.bytes) / (last.atMs - first.atMs)) * 1000;
  const left = total > last.bytes ? `  ${formatDuration((total - last.bytes) / perSecond)} left` : '';
  return `  ${formatBytes(perSecond)}/s${left}`;
}
