import { useEffect, useRef } from 'react';
import { useDocument } from './documentStore.ts';
import { GraphCheck } from './graphCheck.ts';
import { parseGraph } from './graphDocument.ts';

const delayMs = 250;

/** Checks the document with the server a moment after it was changed, and puts the faults into its store. */
export function useGraphCheck(): void {
  const { text, setFaults } = useDocument();
  const graphCheck = useRef<GraphCheck>(undefined);
  useEffect(() => {
    if (text === '' || parseGraph(text).faults.length > 0) return undefined;
    const timer = setTimeout(() => {
      graphCheck.current ??= new GraphCheck();
      void graphCheck.current.check(text).then((faults) => faults && setFaults(faults));
    }, delayMs);
    return () => clearTimeout(timer);
  }, [text, setFaults]);
  useEffect(() => () => graphCheck.current?.close(), []);
}
