import { SingleBar } from 'cli-progress';
import type { DownloadProgress } from '../../download/progress.ts';
import { formatBytes, formatDuration } from '../../units.ts';

/** A bar on standard error, with speed and time left; disposing of it leaves it as it stands. */
export interface ProgressBar extends Disposable {
  show(progress: DownloadProgress): void;
  note(sentence: string): void;
}

const samplesKept = 20;

/** Draws a bar, where standard error is a terminal. */
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
  const samples: { readonly at: number; readonly bytes: number }[] = [];
  let shown: { readonly amounts: string; readonly speed: string; readonly note: string } | undefined;
  return {
    show({ bytesDone, bytesTotal }) {
      samples.push({ at: performance.now(), bytes: bytesDone });
      if (samples.length > samplesKept) samples.shift();
      const of = bytesTotal === 0 ? '' : ` of ${formatBytes(bytesTotal)}`;
      const payload = { amounts: `${formatBytes(bytesDone)}${of}`, speed: speedOf(samples, bytesTotal), note: '' };
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

function speedOf(samples: readonly { readonly at: number; readonly bytes: number }[], total: number): string {
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last || last.at <= first.at || last.bytes <= first.bytes) return '';
  const perSecond = ((last.bytes - first.bytes) / (last.at - first.at)) * 1000;
  const left = total > last.bytes ? `  ${formatDuration((total - last.bytes) / perSecond)} left` : '';
  return `  ${formatBytes(perSecond)}/s${left}`;
}
