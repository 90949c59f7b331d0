import { useCallback, useEffect, useRef, useState, type RefObject } from 'react';

/** A scrolled list that follows its end. */
export interface StickyEnd {
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly content: RefObject<HTMLOListElement | null>;
  /** Whether the end is in view; otherwise the list stays where the user has scrolled to. */
  readonly atEnd: boolean;
  readonly goToEnd: () => void;
}

const nearPixels = 24;

/** Keeps the end of a growing list in view, unless the user has scrolled away from it. @param sent changes with each message of the user. */
export function useStickToEnd(sent: unknown): StickyEnd {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLOListElement>(null);
  const isStuck = useRef(true);
  const [atEnd, setAtEnd] = useState(true);
  const goToEnd = useCallback(() => {
    isStuck.current = true;
    setAtEnd(true);
    scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
  }, []);
  useEffect(() => {
    const { current: box } = scroller;
    const { current: list } = content;
    if (!box || !list) return undefined;
    let top = box.scrollTop;
    const onScroll = (): void => {
      // A list that has grown since it was scrolled to its end is not near it, but only the user scrolls up.
      const isNear = box.scrollTop + box.clientHeight >= box.scrollHeight - nearPixels;
      isStuck.current = isNear || (isStuck.current && box.scrollTop >= top);
      top = box.scrollTop;
      setAtEnd(isStuck.current);
    };
    const observer = new ResizeObserver(() => isStuck.current && box.scrollTo({ top: box.scrollHeight }));
    observer.observe(list);
    observer.observe(box);
    box.addEventListener('scroll', onScroll, { passive: true });
    return () => {
      observer.disconnect();
      box.removeEventListener('scroll', onScroll);
    };
  }, []);
  useEffect(goToEnd, [goToEnd, sent]);
  return { scroller, content, atEnd, goToEnd };
}
