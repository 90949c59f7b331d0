import type { KeyboardEvent, PointerEvent } from 'react';
import { useSettings, type PanelSizes } from './settingsStore.ts';

/** Properties of a splitter. */
export interface SplitterProps {
  /** The panel before it, whose size it changes. */
  readonly panel: keyof PanelSizes;
  /** The direction of the line. */
  readonly orientation: 'vertical' | 'horizontal';
  readonly label: string;
  /** The least and the greatest size of the panel, in percent. */
  readonly min?: number;
  readonly max?: number;
}

const keyStep = 2;

/** A line between two panels that changes their sizes: by dragging, with arrow keys, Home and End. */
export function Splitter({ panel, orientation, label, min = 20, max = 80 }: SplitterProps) {
  const size = useSettings(({ sizes }) => sizes[panel]);
  const setSize = useSettings((store) => store.setSize);
  const set = (percent: number): void => setSize(panel, Math.round(Math.min(max, Math.max(min, percent)) * 10) / 10);
  const onKeyDown = (event: KeyboardEvent): void => {
    const percent = sizeByKey(event.key, { size, min, max });
    if (percent === undefined) return;
    event.preventDefault();
    set(percent);
  };
  const onPointerDown = (event: PointerEvent<HTMLDivElement>): void => {
    event.preventDefault();
    event.currentTarget.focus();
    event.currentTarget.setPointerCapture(event.pointerId);
  };
  const onPointerMove = ({ currentTarget, pointerId, clientX, clientY }: PointerEvent<HTMLDivElement>): void => {
    const { parentElement } = currentTarget;
    if (!parentElement || !currentTarget.hasPointerCapture(pointerId)) return;
    const { left, top, width, height } = parentElement.getBoundingClientRect();
    set(orientation === 'vertical' ? (100 * (clientX - left)) / width : (100 * (clientY - top)) / height);
  };
  return (
    <div
      className="app-splitter"
      role="separator"
      tabIndex={0}
      aria-label={label}
      aria-orientation={orientation}
      aria-valuenow={Math.round(size)}
      aria-valuemin={min}
      aria-valuemax={max}
      onKeyDown={onKeyDown}
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
    />
  );
}

interface SizeRange {
  readonly size: number;
  readonly min: number;
  readonly max: number;
}

function sizeByKey(key: string, { size, min, max }: SizeRange): number | undefined {
  switch (key) {
    case 'ArrowLeft':
    case 'ArrowUp':
      return size - keyStep;
    case 'ArrowRight':
    case 'ArrowDown':
      return size + keyStep;
    case 'Home':
      return min;
    case 'End':
      return max;
    default:
      return undefined;
  }
}
